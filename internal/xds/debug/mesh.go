package debug

import (
	"net/http"

	"google.golang.org/protobuf/proto"
)

// mesh shows the mesh config in force.
func (p *Pages) mesh(w http.ResponseWriter, r *http.Request) {
	live, ok := p.deps.Mesh()
	if !ok {
		notYet(w, "the mesh config is not loaded")
		return
	}
	config := proto.Clone(live.Current())
	p.redactor.Message(config)
	data, err := p.encodeProto(r, config)
	respond(w, data, err)
}

// gateway is an element of /debug/networkz: a way into another network.
type gateway struct {
	Network   string
	Cluster   string
	Addr      string
	Port      uint32
	HBONEPort uint32
}

// networkz lists the gateways between networks. This version reads none, so every network is reached directly.
func (p *Pages) networkz(w http.ResponseWriter, r *http.Request) {
	if p.snapshot(w) != nil {
		write(w, r, []gateway{})
	}
}
