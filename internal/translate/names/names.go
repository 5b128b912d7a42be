// Package names spells the names that Istio gives to Envoy's resources.
//
// Dashboards, EnvoyFilters and people know these names by heart, so they are part of the interface.
package names

import (
	"net"
	"strconv"
	"strings"
)

// Names of resources that are the same for every proxy.
const (
	BlackHole          = "BlackHoleCluster"
	Passthrough        = "PassthroughCluster"
	InboundPassthrough = "InboundPassthroughCluster"
	VirtualInbound     = "virtualInbound"
	VirtualOutbound    = "virtualOutbound"
)

// Outbound names the cluster of a service port, "outbound|9080||reviews.default.svc.cluster.local".
func Outbound(hostname string, port uint32) string {
	return "outbound|" + itoa(port) + "||" + hostname
}

// ParseOutbound reads what Outbound wrote. It is false for anything else, also for names with a subset.
func ParseOutbound(name string) (hostname string, port uint32, ok bool) {
	f := strings.Split(name, "|")
	if len(f) != 4 || f[0] != "outbound" || f[2] != "" || f[3] == "" {
		return "", 0, false
	}
	port, ok = ParsePort(f[1])
	return f[3], port, ok
}

// Inbound names the cluster of a port of the workload itself, "inbound|9080||".
func Inbound(port uint32) string { return "inbound|" + itoa(port) + "||" }

// ParseInbound reads what Inbound wrote.
func ParseInbound(name string) (port uint32, ok bool) {
	digits, found := strings.CutPrefix(name, "inbound|")
	digits, ended := strings.CutSuffix(digits, "||")
	if !found || !ended {
		return 0, false
	}
	return ParsePort(digits)
}

// SNI is the server name that sidecars use among themselves, "outbound_.9080_._.reviews.default.svc.cluster.local".
func SNI(hostname string, port uint32) string {
	return "outbound_." + itoa(port) + "_._." + hostname
}

// Listener names a listener by where it listens, "0.0.0.0_9080".
func Listener(address string, port uint32) string { return address + "_" + itoa(port) }

// ParseListener reads what Listener wrote.
func ParseListener(name string) (address string, port uint32, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i <= 0 {
		return "", 0, false
	}
	port, ok = ParsePort(name[i+1:])
	return name[:i], port, ok
}

// PortRoute names the route configuration of all services with a port of that number, "9080".
func PortRoute(port uint32) string { return itoa(port) }

// ServiceRoute names the route configuration of one service port whose protocol is detected, "db.default.svc:5000".
func ServiceRoute(hostname string, port uint32) string { return hostname + ":" + itoa(port) }

// ParseRoute reads what PortRoute or ServiceRoute wrote; hostname is empty for the former.
func ParseRoute(name string) (hostname string, port uint32, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i == 0 {
		return "", 0, false
	}
	port, ok = ParsePort(name[i+1:])
	return name[:max(i, 0)], port, ok
}

// StatPrefix ends a prefix of statistics' names so that what follows can be told from it: names contain dots.
func StatPrefix(name string) string { return name + ";" }

// HostPort is "host:port", with brackets around an IPv6 address.
func HostPort(host string, port uint32) string { return net.JoinHostPort(host, itoa(port)) }

// ParsePort reads a port number from 1 to 65535, written as Outbound and the others write it.
func ParsePort(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint32(n), err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}

func itoa(port uint32) string { return strconv.FormatUint(uint64(port), 10) }
