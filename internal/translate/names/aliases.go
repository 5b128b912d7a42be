package names

import "strings"

// Aliases lists the short names by which a proxy of the given DNS domain can mean a service's hostname, the absolute
// form (with a dot at the end) first. The hostname itself is not among them.
//
// Within "default.svc.cluster.local", "reviews.default.svc.cluster.local" is also "reviews", "reviews.default.svc" and
// "reviews.default"; from another namespace only the last two can be meant. A hostname of another domain has no short
// names: they could be taken for a service of the cluster.
func Aliases(hostname, proxyDomain string) []string {
	aliases := []string{hostname + "."}
	namespace, clusterDomain, ok := strings.Cut(proxyDomain, ".svc.")
	if !ok {
		return aliases
	}
	short, ok := strings.CutSuffix(hostname, ".svc."+clusterDomain)
	if !ok {
		return aliases
	}
	name, ns, ok := strings.Cut(short, ".")
	if !ok || name == "" || ns == "" {
		return aliases
	}
	if ns == namespace {
		return append(aliases, name, short+".svc", short)
	}
	return append(aliases, short, short+".svc")
}

// Expand gives the hostname that a name means to a proxy of the given DNS domain: the name itself if it is none of
// the short forms that Aliases lists. Hostnames are in lower case, however the name is spelt.
func Expand(name, proxyDomain string) string {
	name = strings.ToLower(name)
	namespace, clusterDomain, ok := strings.Cut(proxyDomain, ".svc.")
	if !ok {
		return name
	}
	suffix := ".svc." + clusterDomain
	name = strings.TrimSuffix(name, ".")
	switch parts := strings.Split(name, "."); {
	case len(parts) == 1:
		return name + "." + namespace + suffix
	case len(parts) == 2:
		return name + suffix
	case len(parts) == 3 && parts[2] == "svc":
		return name + "." + clusterDomain
	}
	return name
}
