package lifecycle

import (
	"fmt"
	"strings"
)

// Phase is one of the stretches that a start consists of. Phases and ranks are the only order that is written by
// hand; everything else follows from what constructors take.
type Phase uint8

// The phases, in the order in which they run. Stopping goes through them backwards.
const (
	// Preflight finds out whether traffic addresses can be bound: socket and bind, never listen.
	Preflight Phase = iota + 1
	// Admin serves the health and monitoring ports, which answer "not ready" with reasons from here on.
	Admin
	// Load reads what everything else depends on: mesh config, networks, the Kubernetes client.
	Load
	// Identity makes the CA, the trust bundle and the process's own certificates.
	Identity
	// Register wires informers, handlers and workers. Workers run from here on, idle.
	Register
	// Sync starts the sources, fills the caches, lets the snapshot catch up and opens the gate.
	Sync
	// Listen opens the traffic ports.
	Listen
	// Lead campaigns in elections. Nothing waits for it.
	Lead
	// Announce says "ready"; on stop it is the first to say "not any more".
	Announce
)

var phaseNames = [...]string{
	Preflight: "preflight", Admin: "admin", Load: "load", Identity: "identity", Register: "register",
	Sync: "sync", Listen: "listen", Lead: "lead", Announce: "announce",
}

// Phases lists all phases in order.
func Phases() []Phase {
	return []Phase{Preflight, Admin, Load, Identity, Register, Sync, Listen, Lead, Announce}
}

// String gives the name that stands in tags, flags and output.
func (p Phase) String() string {
	if p < Preflight || p > Announce {
		return fmt.Sprintf("phase(%d)", uint8(p))
	}
	return phaseNames[p]
}

// MarshalText writes the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a phase's name.
func (p *Phase) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePhase(string(text))
	return err
}

// ParsePhase reads a phase's name; the error lists the names there are.
func ParsePhase(name string) (Phase, error) {
	for _, p := range Phases() {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown phase %q: want one of %s", name, strings.Join(phaseNames[1:], ", "))
}
