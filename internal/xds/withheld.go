package xds

import (
	"maps"
	"time"
)

// Withheld is why a resource is not sent as the configuration demands: it cannot be made, or is not valid.
type Withheld struct {
	// Name is that of the resource, of the service whose resources cannot be listed, or empty if none can be.
	Name  string
	Err   error
	Since time.Time

	// A name that was asked for and has no good version is asked for again with each snapshot, by whoever still wants it.
	missing, stale bool
}

// maxWithheld bounds what a class remembers of it: clients may ask for any number of names.
const maxWithheld = 100

// withheld is by name. It is never changed: streams read it while the class goes on.
type withheld map[string]Withheld

// aged forgets the names that nobody has asked for again since the snapshot before.
func (w withheld) aged() withheld {
	if len(w) == 0 {
		return nil
	}
	out := withheld{}
	for name, h := range w {
		if h.missing && h.stale {
			continue
		}
		h.stale = true
		out[name] = h
	}
	return out
}

// missing gives the names that have no good version.
func (w withheld) missing() withheld {
	out := maps.Clone(w)
	maps.DeleteFunc(out, func(_ string, h Withheld) bool { return !h.missing })
	return out
}

// hold remembers that something cannot be made.
func (m *maker) hold(name string, err error) {
	h := Withheld{Name: name, Err: err, Since: m.now}
	if before, known := m.held[name]; known {
		h.Since = before.Since
	}
	m.failed[name] = h
}

// holding gives what the class withholds now: what was made, or is gone, is forgotten.
func (m *maker) holding() withheld {
	if len(m.state.withheld)+len(m.failed) == 0 {
		return nil
	}
	out := maps.Clone(m.state.withheld)
	if out == nil {
		out = withheld{}
	}
	for name := range m.all {
		delete(out, name)
	}
	for name := range m.named {
		delete(out, name)
	}
	for name, h := range m.failed {
		if _, known := out[name]; known || len(out) < maxWithheld {
			out[name] = h
		}
	}
	return out
}
