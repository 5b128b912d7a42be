// Package listener makes the listeners of a sidecar: the two that take the redirected traffic of its pod, and one for
// each place that the pod may call.
package listener

import (
	"fmt"
	"strconv"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// TypeURL of the resources.
const TypeURL = "type.googleapis.com/envoy.config.listener.v3.Listener"

// New makes the generator of listeners for sidecars.
func New() translate.Generator { return translate.Typed(generator{}) }

// class is what listeners depend on of a proxy. It is zero for proxies that stand alone: what they listen on is said by
// objects that are not read yet.
type class struct {
	sidecar bool
	// istioBuild says that the proxy has the filters of Istio's build of Envoy.
	istioBuild bool
	families   envoy.Families
	redirect   redirection
	inbound    *snapshot.Inbound
	// tags are zero if nothing is traced.
	tags tags
	// self is the pod's own address if it is a member of a headless service, else empty.
	self string
	// reserved are ports of listeners that the proxy's bootstrap has, for health and metrics; 0 for none.
	reserved [2]uint32
	// scope says whom there are listeners for.
	scope snapshot.Scope
}

// redirection says how the pod's traffic gets to the proxy.
type redirection string

const (
	redirectREDIRECT redirection = "REDIRECT"
	redirectTPROXY   redirection = "TPROXY"
	redirectNONE     redirection = "NONE"
)

type generator struct{}

func (generator) TypeURL() string      { return TypeURL }
func (generator) Flavor() model.Flavor { return model.FlavorEnvoy }
func (generator) Wildcard() bool       { return true }

func (generator) Class(s *snapshot.Snapshot, p *model.Proxy) class {
	if p.Type != model.Sidecar {
		return class{}
	}
	c := class{
		sidecar:    true,
		istioBuild: p.Metadata.IstioVersion != "",
		families:   envoy.FamiliesOf(p.IPs, s.Mesh().DualStack),
		redirect:   redirectREDIRECT,
		inbound:    s.Inbound(p),
		scope:      s.Scope(p.Namespace),
		reserved:   [2]uint32{port(p, "ENVOY_STATUS_PORT"), port(p, "ENVOY_PROMETHEUS_PORT")},
	}
	if r := redirection(p.Metadata.InterceptionMode); r == redirectTPROXY || r == redirectNONE {
		c.redirect = r
	}
	if s.Mesh().Config.GetEnableTracing() {
		c.tags = tagsOf(p)
	}
	if len(p.IPs) > 0 && memberOfHeadless(c.inbound) {
		c.self = p.IPs[0]
	}
	return c
}

// port reads a port number of the proxy's metadata, which may be a number or a string; 0 if there is none.
func port(p *model.Proxy, name string) uint32 {
	if v, ok := p.Metadata.Raw[name]; ok {
		if n, err := strconv.ParseUint(fmt.Sprint(v), 10, 16); err == nil {
			return uint32(n)
		}
	}
	return 0
}

func memberOfHeadless(inbound *snapshot.Inbound) bool {
	for _, t := range inbound.Targets {
		if t.Service.Headless() && kindOf(t.Port.Protocol) != kindHTTP {
			return true
		}
	}
	return false
}

func (generator) List(c class) translate.Listing {
	if !c.sidecar {
		return translate.Listing{}
	}
	planned := class{families: c.families, self: c.self, reserved: c.reserved, scope: c.scope}
	return translate.Listing{
		Scope:  c.scope,
		Shared: planned,
		Port: func(s *snapshot.Snapshot, ps *snapshot.PortServices) []translate.Recipe {
			var out []translate.Recipe
			for _, p := range plansOf(s.Mesh(), s.View(planned.scope), ps, planned) {
				out = append(out, translate.Recipe{Name: names.Listener(p.address, p.port), Key: p})
			}
			return out
		},
		Finish: func(mesh *snapshot.Mesh, r translate.Recipe) translate.Recipe { return outbound(mesh, r.Key.(plan), c) },
		Rest: func(s *snapshot.Snapshot) []translate.Recipe {
			var out []translate.Recipe
			for _, name := range []string{names.VirtualOutbound, names.VirtualInbound} {
				if r, ok := virtual(s.Mesh(), c, name); ok {
					out = append(out, r)
				}
			}
			return out
		},
	}
}

func (generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	if !c.sidecar {
		return translate.Recipe{}, false
	}
	address, number, ok := names.ParseListener(name)
	if !ok {
		return virtual(s.Mesh(), c, name)
	}
	view := s.View(c.scope)
	if ps := view.Port(number); ps != nil {
		for _, p := range plansOf(s.Mesh(), view, ps, c) {
			if p.address == address {
				return outbound(s.Mesh(), p, c), true
			}
		}
	}
	return translate.Recipe{}, false
}

// builder makes one listener.
type builder struct {
	envoy.Packer
	mesh       *snapshot.Mesh
	istioBuild bool
	tags       tags
}

// build finishes a recipe: make is called with a builder of its own each time.
func build(mesh *snapshot.Mesh, istioBuild bool, t tags, make func(*builder) *listenerv3.Listener) func() (proto.Message, error) {
	return func() (proto.Message, error) {
		b := &builder{mesh: mesh, istioBuild: istioBuild, tags: t}
		l := make(b)
		return l, b.Err()
	}
}
