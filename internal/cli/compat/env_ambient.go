package compat

const noAmbient = "Not yet in this version: only sidecars and gRPC clients are served, not ztunnels and waypoints."

// ambientEnv are the variables about ambient mode.
func ambientEnv() []Setting {
	all := env(
		Setting{Name: "AMBIENT_SCOPED_ADDRESS_PUSHES"},
		Setting{Name: "PILOT_HBONE_INITIAL_STREAM_WINDOW_SIZE"},
		Setting{Name: "PILOT_HBONE_INITIAL_CONNECTION_WINDOW_SIZE"},
	)
	for _, name := range []string{
		"AMBIENT_ENABLE_BAGGAGE",
		"AMBIENT_ENABLE_DRY_RUN_AUTHORIZATION_POLICY",
		"AMBIENT_ENABLE_MULTI_NETWORK",
		"AMBIENT_ENABLE_MULTI_NETWORK_INGRESS",
		"AMBIENT_ENABLE_MULTI_NETWORK_WAYPOINT",
		"AMBIENT_ENABLE_STATUS",
		"ENABLE_INGRESS_WAYPOINT_ROUTING",
		"ENABLE_LAYERED_WAYPOINT_AUTHORIZATION_POLICIES",
		"PILOT_AUTO_ALLOW_WAYPOINT_POLICY",
		"PILOT_ENABLE_AMBIENT",
		"PILOT_ENABLE_AMBIENT_WAYPOINTS",
		"PILOT_ENABLE_SENDING_HBONE",
		"PILOT_ENABLE_SIDECAR_LISTENING_HBONE",
		"PILOT_PREFER_SENDING_HBONE",
	} {
		all = append(all, Setting{Name: name, Kind: Env, Accepts: as("false")})
	}
	for i := range all {
		all[i].Verdict, all[i].Note = Refused, noAmbient
	}
	return all
}
