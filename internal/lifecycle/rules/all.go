package rules

import (
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// portOrder is the order in which traffic ports start to listen, by the flag of their address.
var portOrder = []string{"--secure-grpc-addr", "--grpc-addr", "--https-addr"}

// All lists the rules whose components exist in some variant of meshd, in the order of docs/ordering.md.
func All() []Rule {
	return []Rule{
		probesBeforeHealthPort(), controllersBeforeGenerators(), registeredBeforeListen(), snapshotBeforeReady(),
		serverBeforeRegistration(), environmentBeforeDiscovery(), handlersBeforeEvents(), listenersLast(),
		stepsReturn(), stopIsReverse(),
	}
}

func probesBeforeHealthPort() Rule {
	return Rule{
		ID:      "probes-before-health-port",
		Text:    "every readiness probe is known before the health port accepts; an empty or incomplete set answers 503",
		Symptom: "/ready says 200 in the first instants, and traffic is sent to an empty server; only under fast rolling restarts",
		Serves:  []string{"admin.health readiness.announce", "admin.monitoring readiness.announce"},
		check: func(c *check) {
			checker := c.provider("readiness.Checker")
			c.takesDirectly(checker, lifecycle.RoleGroup, "readiness.Probe")
			c.takes(checker, "lifecycle.Trace")
			ports := listening(c.plan, lifecycle.Admin)
			if len(ports) == 0 {
				c.fail(nil, "no step of phase admin opens a port")
			}
			for _, s := range ports {
				c.takes(s.Constructor, "readiness.Checker")
			}
			// What serves or must be complete before serving contributes a probe.
			for _, s := range listening(c.plan, lifecycle.Listen) {
				if s.Probe == "" {
					c.fail(s.Constructor, "step %s opens a traffic port and has no probe", s.Name)
				}
			}
			for _, s := range c.plan.Steps {
				if s.Phase == lifecycle.Sync && len(s.Sets) > 0 && s.Probe == "" {
					c.fail(s.Constructor, "step %s fills something and has no probe", s.Name)
				}
			}
		},
	}
}

func controllersBeforeGenerators() Rule {
	return Rule{
		ID:      "controllers-before-generators",
		Text:    "the generator table is built whole: every advertised type URL has a generator, and what a generator reads exists before the table",
		Symptom: "a type is never delivered; sidecars hang at start while the control plane looks perfect",
		check: func(c *check) {
			c.takesDirectly(c.provider("xds.Table"), lifecycle.RoleGroup, "translate.Generator")
			c.takes(c.provider("xds.Server"), "xds.Table")
		},
	}
}

func registeredBeforeListen() Rule {
	return Rule{
		ID:      "ca-registered-before-listen",
		Text:    "every gRPC service is registered before its listener is bound",
		Symptom: "`Unimplemented` for the first requests of a service",
		applies: hasListener("--grpc-addr"),
		check: func(c *check) {
			s := c.inPhase("listeners.plaintext", lifecycle.Listen)
			if s == nil {
				return
			}
			c.takes(s.Constructor, "modules.PlaintextServer")
			c.takesDirectly(c.provider("modules.PlaintextServer"), lifecycle.RoleGroup, "modules.Service")
		},
	}
}

func serverBeforeRegistration() Rule {
	return Rule{
		ID:      "server-before-registration",
		Text:    "the gRPC server object exists before services are registered on it, and each service is on the server it is meant for",
		Symptom: "a service is reachable on the wrong port, or nowhere",
		applies: hasListener("--grpc-addr"),
		check: func(c *check) {
			for _, ctor := range c.plan.Graph.Constructors {
				for _, r := range ctor.Results {
					if r.Key.Type.String() == "*grpc.Server" {
						c.fail(ctor, "%s gives a bare *grpc.Server: give each server a type of its own, so that services cannot be mixed up", ctor.ID)
					}
				}
			}
			// The service that this server exists for is a member of its group, and of no other.
			var groups []string
			for _, e := range c.plan.Graph.Edges() {
				if e.Kind == lifecycle.Contributes && strings.Contains(e.Via, "modules.Service[") && e.Provider == "plaintext-grpc/newPlaintextDiscovery" {
					groups = append(groups, e.Consumer)
				}
			}
			if !slices.Equal(groups, []string{"plaintext-grpc/newPlaintextServer"}) {
				c.fail(c.plan.Graph.Constructor("plaintext-grpc/newPlaintextDiscovery"), "discovery is registered on %v, not on the plaintext server alone", groups)
			}
			c.takes(c.plan.Graph.Constructor("plaintext-grpc/newPlaintextDiscovery"), "xds.Server")
		},
	}
}

func snapshotBeforeReady() Rule {
	return Rule{
		ID:      "snapshot-before-ready",
		Text:    "after the stores are synced, every change counted until then is compiled into the snapshot, and only then the gate opens",
		Symptom: "seconds of 503 across the mesh after a restart; heals by itself; clean logs",
		Serves: []string{"source.load snapshot.catch-up", "snapshot.compile snapshot.catch-up", "snapshot.catch-up phase:listen",
			"snapshot.catch-up readiness.announce", "mesh-config.load snapshot.compile"},
		check: func(c *check) {
			load, catchUp := c.inPhase("source.load", lifecycle.Sync), c.inPhase("snapshot.catch-up", lifecycle.Sync)
			compile := c.inPhase("snapshot.compile", lifecycle.Register)
			c.sets(load, "config.Synced")
			c.sets(catchUp, "snapshot.Live")
			c.precedes(load, catchUp)
			c.precedes(compile, catchUp)
			if catchUp != nil {
				c.takesDirectly(catchUp.Constructor, lifecycle.RoleLoaded, "config.Synced")
				c.takes(catchUp.Constructor, "snapshot.Publisher")
				c.takesDirectly(catchUp.Constructor, lifecycle.RoleValue, "config.Changes")
			}
			if compile != nil {
				c.takesDirectly(compile.Constructor, lifecycle.RoleGate, "config.Synced")
				c.takes(compile.Constructor, "mesh.Live")
			}
			for _, s := range listening(c.plan, lifecycle.Listen) {
				c.precedes(catchUp, s)
				c.takes(s.Constructor, "snapshot.Live")
			}
			c.precedes(catchUp, c.inPhase("readiness.announce", lifecycle.Announce))
		},
	}
}

func environmentBeforeDiscovery() Rule {
	return Rule{
		ID:      "environment-before-discovery",
		Text:    "the discovery server and the generators share one store of snapshots and resources, handed to both at construction",
		Symptom: "stale config after a change",
		Serves:  []string{"snapshot.compile xds.push"},
		check: func(c *check) {
			server := c.provider("xds.Server")
			c.takesDirectly(server, lifecycle.RolePeek, "snapshot.Live")
			c.takesDirectly(server, lifecycle.RoleGate, "snapshot.Live")
			c.takes(c.provider("snapshot.Publisher"), "config.Stores")
			if load := c.step("source.load"); load != nil {
				c.takes(load.Constructor, "config.Stores")
			}
			if push := c.inPhase("xds.push", lifecycle.Register); push != nil {
				c.takes(push.Constructor, "xds.Server")
			}
		},
	}
}

func handlersBeforeEvents() Rule {
	return Rule{
		ID:      "handlers-before-events",
		Text:    "event handlers are wired before sources start",
		Symptom: "the initial list is missed; objects appear only after their next change",
		Serves:  []string{"snapshot.compile source.load", "mesh-config.load source.load"},
		check: func(c *check) {
			c.takes(c.provider("config.Stores"), "config.Changes")
			c.takes(c.provider("snapshot.Publisher"), "config.Changes")
			c.takes(c.provider("mesh.Source"), "config.Changes")
			c.precedes(c.step("snapshot.compile"), c.step("source.load"))
		},
	}
}

func listenersLast() Rule {
	return Rule{
		ID:      "listeners-last",
		Text:    "traffic ports start to listen in phase Listen, in a fixed order, by one component; nothing else listens but the admin ports in phase Admin",
		Symptom: "any of the others, at random",
		Serves:  []string{"listeners.claim phase:listen", "phase:sync phase:listen"},
		check: func(c *check) {
			claim := c.inPhase("listeners.claim", lifecycle.Preflight)
			c.sets(claim, "listener.Sockets")
			last := -1
			for _, s := range c.plan.Steps {
				switch {
				case s.Listener == "":
				case s.Phase == lifecycle.Admin && s.Component == "admin":
				case s.Phase == lifecycle.Listen && s.Component == "listeners":
					c.takesDirectly(s.Constructor, lifecycle.RoleLoaded, "listener.Sockets")
					at := slices.Index(portOrder, s.Listener)
					if at <= last {
						c.fail(s.Constructor, "step %s opens %s out of order: want %v", s.Name, s.Listener, portOrder)
					}
					last = at
					if !s.Ranked {
						c.fail(s.Constructor, "step %s opens a port and has no rank", s.Name)
					}
				default:
					c.fail(s.Constructor, "step %s of component %s opens %s in phase %s", s.Name, s.Component, s.Listener, s.Phase)
				}
				if s.Component == "listeners" && s.Phase == lifecycle.Listen && s.Listener == "" {
					c.fail(s.Constructor, "step %s opens a port and does not say which (tag listener)", s.Name)
				}
			}
			for _, s := range c.plan.Steps {
				if (s.Component == "listeners" && s.Phase != lifecycle.Preflight || s.Component == "admin") && s.Listener == "" {
					c.fail(s.Constructor, "step %s of component %s does not say which port it opens (tag listener)", s.Name, s.Component)
				}
			}
		},
	}
}

func stepsReturn() Rule {
	return Rule{
		ID:      "steps-return",
		Text:    "a start step never blocks for ever: it has a budget, or declares what outside it waits for and keeps saying so",
		Symptom: "start hangs, and the last log line points elsewhere",
		check: func(c *check) {
			for _, s := range c.plan.Steps {
				if s.Budget > longestBudget && s.Waits == "" {
					c.fail(s.Constructor, "step %s has a budget of %s and does not say what outside it waits for (tag waits)", s.Name, s.Budget)
				}
			}
		},
	}
}

func stopIsReverse() Rule {
	return Rule{
		ID:      "stop-is-reverse",
		Text:    "stop is the reverse of start: not ready any more; streams moved, ports closed; then the rest",
		Symptom: "lost config at every rollout",
		Serves:  []string{"* readiness.announce", "xds.push phase:listen"},
		check: func(c *check) {
			announce := c.inPhase("readiness.announce", lifecycle.Announce)
			if announce != nil {
				c.takes(announce.Constructor, "readiness.Checker")
			}
			push := c.inPhase("xds.push", lifecycle.Register)
			for _, s := range listening(c.plan, lifecycle.Listen) {
				c.precedes(push, s)
				c.precedes(s, announce)
				c.takes(s.Constructor, "xds.Server") // whose streams it moves before it closes the port
			}
			c.inPhase("admin.health", lifecycle.Admin)
			c.inPhase("admin.monitoring", lifecycle.Admin)
		},
	}
}
