// Package compat says what meshd does with the settings that istiod's operators know: the flags of
// `pilot-discovery discovery`, its ports and its environment variables.
//
// Every setting has a verdict. meshd honours it, accepts it because there is nothing in it to honour, or refuses to
// start and says what to use instead. None is silently ignored: what looks configured and is not is the worst of the three.
package compat

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Line is the release line of istiod whose settings the table holds.
const Line = "1.32"

// Kind is what a setting is to an operator.
type Kind string

// The kinds of settings.
const (
	Flag Kind = "flag"
	Port Kind = "port"
	Env  Kind = "env"
)

// Verdict is what meshd does with a setting.
type Verdict string

// The verdicts.
const (
	// Honoured: it means the same to meshd; Setting.As says under which name.
	Honoured Verdict = "honoured"
	// Accepted: others set it without asking anybody (Kubernetes, a chart, a shell), and it changes nothing in meshd.
	// The log says so at start.
	Accepted Verdict = "accepted"
	// Refused: meshd does not start while it is set; Setting.Note says what to use instead.
	Refused Verdict = "refused"
)

// Setting is one row of the table.
type Setting struct {
	// Name as an operator writes it: "--grpcAddr", "15010", "PILOT_DEBOUNCE_AFTER".
	Name    string
	Kind    Kind
	Verdict Verdict
	// As is meshd's own name for it, if it is honoured. For a flag that is a switch it includes the value that "on" means.
	As string
	// Note is one sentence: what differs, or what to use instead.
	Note string
	// Accepts are the values of a refused setting that are let through, because meshd does just that anyway.
	Accepts []string
	// Switch marks a flag that takes no value.
	Switch bool
}

// accepts reports whether a refused setting of this value asks for nothing but what meshd does.
func (s Setting) accepts(value string) bool {
	return slices.ContainsFunc(s.Accepts, func(a string) bool { return sameValue(a, value) })
}

// sameValue compares as istiod would read the two: "1" is true, and "1000ms" is a second.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	if x, err := strconv.ParseFloat(a, 64); err == nil {
		if y, err := strconv.ParseFloat(b, 64); err == nil {
			return x == y
		}
	}
	if x, err := strconv.ParseBool(a); err == nil {
		y, err := strconv.ParseBool(b)
		return err == nil && x == y
	}
	if x, err := time.ParseDuration(a); err == nil {
		y, err := time.ParseDuration(b)
		return err == nil && x == y
	}
	return false
}

// Settings gives the whole table: ports by number, then flags, then variables by name.
func Settings() []Setting {
	all := slices.Concat(
		ports(), flags(),
		processEnv(), xdsEnv(), translationEnv(), telemetryEnv(),
		securityEnv(), kubernetesEnv(), gatewayEnv(), multiclusterEnv(), ambientEnv(),
	)
	order := []Kind{Port, Flag, Env}
	slices.SortFunc(all, func(a, b Setting) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(portNumber(a), portNumber(b)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return all
}

func portNumber(s Setting) int {
	if s.Kind != Port {
		return 0
	}
	n, _ := strconv.Atoi(s.Name)
	return n
}

// EnvByFlag lists, for each flag of meshd ("--debounce-after"), the variables of istiod that stand for it, in the order
// of the table. The flag itself and meshd's own variable of the flag go before them.
func EnvByFlag() map[string][]string {
	names := map[string][]string{}
	for _, s := range Settings() {
		if s.Kind == Env && s.Verdict == Honoured {
			names[s.As] = append(names[s.As], s.Name)
		}
	}
	return names
}

// byName indexes the settings of one kind.
func byName(kind Kind) map[string]Setting {
	index := map[string]Setting{}
	for _, s := range Settings() {
		if s.Kind == kind {
			index[s.Name] = s
		}
	}
	return index
}
