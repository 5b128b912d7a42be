package mesh

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxConnectTimeout and minConnectTimeout are the bounds that Istio has for connectTimeout.
const (
	minConnectTimeout = time.Millisecond
	maxConnectTimeout = time.Hour
)

// Validate checks the values of a mesh config whose defaults are filled in. The error joins everything that is wrong,
// each with the path of its field.
func Validate(m *meshv1alpha1.MeshConfig) error {
	v := &validator{}
	v.port("proxyListenPort", m.ProxyListenPort)
	v.port("proxyInboundListenPort", m.ProxyInboundListenPort)
	if m.ProxyListenPort == m.ProxyInboundListenPort {
		v.errorf("proxyInboundListenPort", "is %d like proxyListenPort: a proxy cannot listen twice on one port", m.ProxyListenPort)
	}
	if m.ProxyHttpPort != 0 { // 0 means none
		v.port("proxyHttpPort", m.ProxyHttpPort)
	}
	v.duration("connectTimeout", m.ConnectTimeout, minConnectTimeout, maxConnectTimeout)
	v.duration("protocolDetectionTimeout", m.ProtocolDetectionTimeout, 0, 0)
	v.duration("dnsRefreshRate", m.DnsRefreshRate, time.Millisecond, 0)
	if m.HboneIdleTimeout != nil {
		v.duration("hboneIdleTimeout", m.HboneIdleTimeout, 0, 0)
	}

	v.trustDomain("trustDomain", m.TrustDomain)
	for i, alias := range m.TrustDomainAliases {
		v.trustDomain(fmt.Sprintf("trustDomainAliases[%d]", i), alias)
	}
	if problems := validation.IsDNS1123Label(m.RootNamespace); problems != nil {
		v.errorf("rootNamespace", "is %q: %s", m.RootNamespace, problems[0])
	}
	v.exportTo("defaultServiceExportTo", m.DefaultServiceExportTo)
	v.exportTo("defaultVirtualServiceExportTo", m.DefaultVirtualServiceExportTo)
	v.exportTo("defaultDestinationRuleExportTo", m.DefaultDestinationRuleExportTo)
	for i, s := range m.DiscoverySelectors {
		v.selector(fmt.Sprintf("discoverySelectors[%d]", i), s)
	}
	names := map[string]bool{}
	for i, p := range m.ExtensionProviders {
		at := fmt.Sprintf("extensionProviders[%d].name", i)
		switch {
		case p.Name == "":
			v.errorf(at, "is missing")
		case names[p.Name]:
			v.errorf(at, "is %q like another one's", p.Name)
		}
		names[p.Name] = true
	}
	for i, s := range m.ServiceSettings {
		for j, host := range s.Hosts {
			if strings.TrimPrefix(host, "*.") == "" || host != "*" && strings.Contains(strings.TrimPrefix(host, "*."), "*") {
				v.errorf(fmt.Sprintf("serviceSettings[%d].hosts[%d]", i, j), "is %q: want a host name, or one that begins with \"*.\"", host)
			}
		}
	}
	if m.MeshMTLS != nil && len(m.MeshMTLS.EcdhCurves) > 0 {
		v.errorf("meshMTLS.ecdhCurves", "cannot be chosen: traffic inside the mesh has fixed curves")
	}
	v.proxyConfig("defaultConfig", m.DefaultConfig)
	return errors.Join(v.errors...)
}

type validator struct{ errors []error }

func (v *validator) errorf(path, format string, args ...any) {
	v.errors = append(v.errors, fmt.Errorf("%s %s", path, fmt.Sprintf(format, args...)))
}

func (v *validator) proxyConfig(at string, p *meshv1alpha1.ProxyConfig) {
	if p == nil {
		v.errorf(at, "is missing")
		return
	}
	v.port(at+".proxyAdminPort", p.ProxyAdminPort)
	v.port(at+".statusPort", p.StatusPort)
	v.address(at+".discoveryAddress", p.DiscoveryAddress)
	if p.StatsdUdpAddress != "" {
		v.address(at+".statsdUdpAddress", p.StatsdUdpAddress)
	}
	if a := p.GetEnvoyAccessLogService().GetAddress(); a != "" {
		v.address(at+".envoyAccessLogService.address", a)
	}
	if a := p.GetEnvoyMetricsService().GetAddress(); a != "" {
		v.address(at+".envoyMetricsService.address", a)
	}
	v.duration(at+".drainDuration", p.DrainDuration, time.Millisecond, 0)
	if d := p.DrainDuration.AsDuration(); d%time.Second != 0 {
		v.errorf(at+".drainDuration", "is %s: want whole seconds", d)
	}
	v.duration(at+".terminationDrainDuration", p.TerminationDrainDuration, 0, 0)
	if p.Concurrency != nil && p.Concurrency.Value < 0 {
		v.errorf(at+".concurrency", "is %d: want 0, which means one per processor, or more", p.Concurrency.Value)
	}
	if p.StatNameLength < 0 {
		v.errorf(at+".statNameLength", "is %d: want 0 or more", p.StatNameLength)
	}
	for name, path := range map[string]string{"configPath": p.ConfigPath, "binaryPath": p.BinaryPath} {
		if path == "" {
			v.errorf(at+"."+name, "is empty")
		}
	}
}

func (v *validator) port(at string, port int32) {
	if problems := validation.IsValidPortNum(int(port)); problems != nil {
		v.errorf(at, "is %d: %s", port, problems[0])
	}
}

// duration checks bounds, of which a most of 0 is none, and that the value is one of whole milliseconds, which is the
// precision of what it becomes.
func (v *validator) duration(at string, d *durationpb.Duration, least, most time.Duration) {
	value := d.AsDuration()
	switch {
	case d == nil:
		v.errorf(at, "is missing")
	case d.CheckValid() != nil:
		v.errorf(at, "is out of range")
	case value < least:
		v.errorf(at, "is %s: want at least %s", value, least)
	case most > 0 && value > most:
		v.errorf(at, "is %s: want at most %s", value, most)
	case value%time.Millisecond != 0:
		v.errorf(at, "is %s: want whole milliseconds", value)
	}
}

// trustDomain checks what becomes the host of SPIFFE identities. A dot at the end is allowed, as Istio has it.
func (v *validator) trustDomain(at, domain string) {
	if domain == "" {
		v.errorf(at, "is empty: identities would have no domain")
		return
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(domain, "."), ".") {
		if problems := validation.IsDNS1123Label(label); problems != nil {
			v.errorf(at, "is %q: want lower-case DNS labels with dots between them", domain)
			return
		}
	}
}

func (v *validator) exportTo(at string, list []string) {
	for i, s := range list {
		switch s {
		case "*", ".", "~":
			continue
		}
		if validation.IsDNS1123Label(s) != nil {
			v.errorf(fmt.Sprintf("%s[%d]", at, i), "is %q: want \"*\" (all), \".\" (its own), \"~\" (none) or a namespace", s)
		}
	}
}

func (v *validator) selector(at string, s *meshv1alpha1.LabelSelector) {
	out := &metav1.LabelSelector{MatchLabels: s.GetMatchLabels()}
	for _, e := range s.GetMatchExpressions() {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values,
		})
	}
	if _, err := metav1.LabelSelectorAsSelector(out); err != nil {
		v.errorf(at, "is not a label selector: %v", err)
	}
}

func (v *validator) address(at, address string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		v.errorf(at, "is %q: want host:port", address)
		return
	}
	if n, err := strconv.Atoi(port); err != nil || validation.IsValidPortNum(n) != nil {
		v.errorf(at, "is %q: %q is not a port", address, port)
	}
	if _, err := netip.ParseAddr(host); err != nil && validation.IsDNS1123Subdomain(host) != nil {
		v.errorf(at, "is %q: %q is neither a host name nor an address", address, host)
	}
}
