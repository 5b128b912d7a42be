package swarm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/xds/resource"
)

// types are what a client asks for, each when it has the one before.
var types = [...]string{resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType}

// State is what a client has. It outlives a stream, as a proxy's configuration does.
type State struct {
	// Types by type URL; those that were answered at least once.
	Types map[string]*Type
}

// Type is what a client has of one type.
type Type struct {
	// Resources by name.
	Resources map[string]*Content
	// Versions of the same. Delta only.
	Versions map[string]string
	// Responses counts those that came, and Bytes what was in them, on all streams.
	Responses, Bytes int64

	version  string         // of the last response
	children map[string]int // what its resources refer to, and how many of them do
	order    []*Content     // what came last in the state of the world, in order; for a type of which everything comes
	moved    []string       // children that have come or gone since wanted was asked
}

func newState() State { return State{Types: map[string]*Type{}} }

// Complete reports whether each of the four types was answered.
func (s State) Complete() bool { return len(s.Types) == len(types) }

// Get gives a resource, or nil.
func (s State) Get(typeURL, name string) *Content {
	if t := s.Types[typeURL]; t != nil {
		return t.Resources[name]
	}
	return nil
}

// Diff says in what the resources of two states differ, in a few lines; "" if they are the same. Both states are of one
// swarm. Versions are compared if both have them.
func (s State) Diff(other State) string {
	var lines []string
	for _, typeURL := range types {
		a, b := s.Types[typeURL], other.Types[typeURL]
		if a == nil || b == nil {
			if a != b {
				lines = append(lines, resource.TypeOf(typeURL).Short+": answered in one and not in the other")
			}
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(union(a.Resources, b.Resources))) {
			x, y := a.Resources[name], b.Resources[name]
			what := ""
			switch {
			case y == nil:
				what = "is there though it should not"
			case x == nil:
				what = "is missing"
			case x != y:
				what = fmt.Sprintf("has other content, %d bytes instead of %d", x.Size, y.Size)
			case a.Versions[name] != b.Versions[name] && len(a.Versions) > 0 && len(b.Versions) > 0:
				what = fmt.Sprintf("has version %q instead of %q", a.Versions[name], b.Versions[name])
			default:
				continue
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", resource.TypeOf(typeURL).Short, name, what))
		}
	}
	const most = 20
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}

func union(a, b map[string]*Content) map[string]*Content {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (s State) copy() State {
	out := newState()
	for typeURL, t := range s.Types {
		c := *t
		c.Resources, c.Versions, c.children = maps.Clone(t.Resources), maps.Clone(t.Versions), maps.Clone(t.children)
		out.Types[typeURL] = &c
	}
	return out
}

// apply takes in a response; names are those that are subscribed, sorted, of a type that is subscribed by name. It
// reports whether a resource that names children is new or another one.
func (s State) apply(r response, size int, names []string, contents *Contents, delta bool) (renewed bool) {
	t := s.Types[r.typeURL]
	if t == nil {
		t = &Type{Resources: map[string]*Content{}, Versions: map[string]string{}, children: map[string]int{}}
		s.Types[r.typeURL] = t
	}
	t.Responses++
	t.Bytes += int64(size)
	t.version = r.version
	typ := resource.TypeOf(r.typeURL)
	full := !delta && typ.FullState
	order, next := t.order, 0 // what most likely comes again, and where in it
	if full {
		t.order = make([]*Content, 0, len(r.resources))
	}
	for _, res := range r.resources {
		var c *Content
		for i := next; full && c == nil && i < min(next+2, len(order)); i++ { // one may be missing
			if order[i].is(res.value) {
				c, next = order[i], i+1
			}
		}
		if c == nil {
			c = contents.of(r.typeURL, res.value)
		}
		if full {
			t.order = append(t.order, c)
		}
		if _, wanted := slices.BinarySearch(names, c.Name); !wanted && typ.Parent != "" {
			continue // it was on its way when the client dropped it
		}
		if old := t.Resources[c.Name]; old != c {
			t.refer(c, 1)
			t.refer(old, -1)
			renewed = renewed || len(c.Children) > 0
			t.Resources[c.Name] = c
		}
		if delta {
			t.Versions[c.Name] = res.version
		}
	}
	if full && len(t.Resources) > len(r.resources) {
		here := make(map[string]bool, len(t.order))
		for _, c := range t.order {
			here[c.Name] = true
		}
		for name := range t.Resources {
			if !here[name] {
				t.remove(name)
			}
		}
	}
	for _, name := range r.removed {
		t.remove(name)
	}
	return renewed
}

// refer counts who refers to the children of a resource, which may be nil.
func (t *Type) refer(c *Content, by int) {
	if c == nil {
		return
	}
	for _, child := range c.Children {
		before := t.children[child]
		t.children[child] = before + by
		if before <= 0 || before+by <= 0 {
			t.moved = append(t.moved, child)
		}
	}
}

func (t *Type) remove(name string) {
	t.refer(t.Resources[name], -1)
	delete(t.Resources, name)
	delete(t.Versions, name)
}

// wanted takes the names that were subscribed so far, sorted, and gives those that the children need now, and how the
// two differ.
func (t *Type) wanted(before []string) (names, added, dropped []string) {
	slices.Sort(t.moved)
	for _, child := range slices.Compact(t.moved) {
		n := t.children[child]
		_, had := slices.BinarySearch(before, child)
		switch {
		case n <= 0:
			delete(t.children, child)
			if had {
				dropped = append(dropped, child)
			}
		case !had:
			added = append(added, child)
		}
	}
	t.moved = nil
	if len(added)+len(dropped) == 0 {
		return before, nil, nil
	}
	slices.Sort(added)
	slices.Sort(dropped)
	names = slices.DeleteFunc(slices.Clone(before), func(name string) bool {
		_, gone := slices.BinarySearch(dropped, name)
		return gone
	})
	return merge(names, added), added, dropped
}

// again has wanted look at all children.
func (t *Type) again() { t.moved = slices.Collect(maps.Keys(t.children)) }

// merge puts sorted names among others. Most often there are few of one of them.
func merge(a, b []string) []string {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	if len(b) > 100 {
		out = append(out, b...)
		slices.Sort(out)
		return out
	}
	for _, name := range b {
		at, _ := slices.BinarySearch(out, name)
		out = slices.Insert(out, at, name)
	}
	return out
}
