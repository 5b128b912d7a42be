package snapshot

import (
	"cmp"
	"maps"
	"slices"

	"github.com/meshd/meshd/internal/model"
)

// key names something that can be read of a snapshot.
type key struct {
	what what
	name string
	port uint32
}

// what is the kind of a key.
type what uint8

const (
	allServices what = iota // and their ports, and whom they are shown to
	oneService
	onePort
	theEndpoints
	theNames
	anyInbound // whose does not matter: proxies are many, and classes tell who is meant
	anyPlace
)

func serviceKey(hostname string) key { return key{what: oneService, name: hostname} }
func portKey(number uint32) key      { return key{what: onePort, port: number} }

// Reads is what was read of a snapshot, apart from the mesh config, which counts as read by all. It is for one
// goroutine; the zero value has nothing.
type Reads struct{ keys []key }

// note is called by every method of a Snapshot that gives content, so that no reader can forget to.
func (r *Reads) note(k key) {
	if r == nil || len(r.keys) > 0 && r.keys[len(r.keys)-1] == k {
		return
	}
	r.keys = append(r.keys, k)
}

// Take gives what a part read, and forgets it. What the part is made of is left out: that is known without.
func (r *Reads) Take(p Part) Reads {
	own, made := p.own()
	keys := slices.DeleteFunc(r.keys, func(k key) bool { return made && k == own })
	slices.SortFunc(keys, key.compare)
	out := Reads{slices.Clone(slices.Compact(keys))}
	r.keys = r.keys[:0]
	return out
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.what, o.what), cmp.Compare(k.port, o.port), cmp.Compare(k.name, o.name))
}

// Noting gives the same snapshot, of which is noted what is read.
func (s *Snapshot) Noting(r *Reads) *Snapshot {
	noting := *s
	noting.reads = r
	return &noting
}

// Delta is what differs between two snapshots: what was read of one of them and is not in it reads the same in the other.
type Delta struct {
	// Mesh says that the mesh config does. Nearly everything reads it.
	Mesh bool
	// Services are the hostnames of the services that came, went or are others; sorted.
	Services []string
	// Ports are the numbers of the ports that these services have or had; sorted.
	Ports []uint32

	keys set[key]
}

// Empty says that nothing differs.
func (d *Delta) Empty() bool { return !d.Mesh && len(d.keys) == 0 }

// Since finds what differs from an older snapshot of the same compiler. What both share is passed over.
func (s *Snapshot) Since(old *Snapshot) *Delta {
	d := &Delta{Mesh: s.mesh != old.mesh, keys: set[key]{}}
	ports := set[uint32]{}
	s.entries.since(old.entries, func(hostname string, was, is *entry) {
		if was.record() != is.record() {
			d.Services = append(d.Services, hostname)
			d.keys[serviceKey(hostname)] = struct{}{}
			for _, number := range slices.Concat(was.numbers(), is.numbers()) {
				ports[number] = struct{}{}
			}
		}
		if was.head() != is.head() {
			d.keys[key{what: theNames}] = struct{}{}
		}
		for _, number := range slices.Concat(was.numbers(), is.numbers()) {
			// Who sees the service sees its endpoints.
			if was.record() != is.record() || was.port(number) != is.port(number) {
				d.keys[key{theEndpoints, hostname, number}] = struct{}{}
			}
		}
	})
	slices.Sort(d.Services)
	d.Ports = slices.Sorted(maps.Keys(ports))
	for _, number := range d.Ports {
		d.keys[portKey(number)] = struct{}{}
	}
	if len(d.Services) > 0 {
		d.keys[key{what: allServices}] = struct{}{}
		d.keys[key{what: theNames}] = struct{}{}
	}
	if !s.inbounds.same(&old.inbounds) {
		d.keys[key{what: anyInbound}] = struct{}{}
	}
	if !s.places.same(&old.places) || !s.inbounds.same(&old.inbounds) {
		d.keys[key{what: anyPlace}] = struct{}{}
	}
	return d
}

// InboundsSince calls f for each pod that something else leads to than in an older snapshot of the same compiler, nil for
// none: with what did and what does, nil where there is no such pod. It costs in proportion to those.
func InboundsSince(old, s *Snapshot, f func(was, is *Inbound)) {
	if old == nil {
		old = &Snapshot{}
	}
	s.inbounds.pods.since(old.inbounds.pods, func(_ model.NamespacedName, was, is *Inbound) { f(was, is) })
}

func (e *entry) record() *Service {
	if e == nil {
		return nil
	}
	return e.service
}

func (e *entry) numbers() []uint32 {
	if e == nil {
		return nil
	}
	out := make([]uint32, len(e.endpoints))
	for i, eps := range e.endpoints {
		out[i] = eps.Port.Number
	}
	return out
}

func (b *inbounds) same(old *inbounds) bool {
	return b.pods.same(old.pods) && b.owners.same(old.owners) && b.unselected.same(old.unselected) && b.selecting.same(old.selecting)
}

func (p *places) same(old *places) bool { return p.pods.same(old.pods) && p.nodes.same(old.nodes) }

// Part is a part of what somebody makes of a snapshot, and is made anew when something that it read is another.
type Part struct {
	Kind PartKind
	// Name is the hostname of a service, or what was asked for by name.
	Name string
	// Port is a number.
	Port uint32
}

// PartKind says what a part is made of.
type PartKind uint8

const (
	// PartService is made of one service, by hostname.
	PartService PartKind = iota
	// PartPort is made of the services with a port of one number.
	PartPort
	// PartRest is made of anything else.
	PartRest
	// PartName is what was asked for by name.
	PartName
)

// own is the key of what a part is made of: its change is told by the Delta itself.
func (p Part) own() (k key, ok bool) {
	switch p.Kind {
	case PartService:
		return serviceKey(p.Name), true
	case PartPort:
		return portKey(p.Port), true
	}
	return key{}, false
}

// Readers knows which parts read what. It is immutable, and the zero value knows none.
type Readers struct{ of table[key, readers] }

type readers struct{ parts set[Part] }

// With gives Readers in which parts read now what they did not, or the reverse.
func (r Readers) With(changes []Reread) Readers {
	edited := map[key]set[Part]{}
	at := func(k key) set[Part] {
		parts, ok := edited[k]
		if !ok {
			parts = set[Part]{}
			if had := r.of.get(k); had != nil {
				parts = maps.Clone(had.parts)
			}
			edited[k] = parts
		}
		return parts
	}
	for _, c := range changes {
		if slices.Equal(c.Was.keys, c.Is.keys) {
			continue
		}
		for _, k := range c.Was.keys {
			delete(at(k), c.Part)
		}
		for _, k := range c.Is.keys {
			at(k)[c.Part] = struct{}{}
		}
	}
	values := make(map[key]*readers, len(edited))
	for k, parts := range edited {
		values[k] = nil
		if len(parts) > 0 {
			values[k] = &readers{parts}
		}
	}
	return Readers{r.of.with(values)}
}

// Reread is what a part read before and reads now.
type Reread struct {
	Part    Part
	Was, Is Reads
}

// Touched lists the parts that a difference touches, apart from a difference of the mesh config, which touches all: those that
// read something of it, and those that are made of it. Its order means nothing.
func (r Readers) Touched(d *Delta) set[Part] {
	out := set[Part]{}
	for _, hostname := range d.Services {
		out[Part{Kind: PartService, Name: hostname}] = struct{}{}
	}
	for _, number := range d.Ports {
		out[Part{Kind: PartPort, Port: number}] = struct{}{}
	}
	for k := range d.keys {
		if had := r.of.get(k); had != nil {
			maps.Copy(out, had.parts)
		}
	}
	return out
}
