package lifecycle

import (
	"errors"
	"net/url"
	"slices"

	"go.uber.org/dig"
	"go.uber.org/fx/fxevent"
)

// constructorLog is fx's logger as far as meshd is concerned: it notes in the trace how long each constructor took,
// and which one failed.
type constructorLog struct {
	trace *Trace
	// byName finds a constructor by module and function, as fx's events name them.
	byName map[[2]string]*Constructor
	// waitedFor are the constructors that fx runs before one, sorted.
	waitedFor map[string][]string

	failed *Constructor
	err    error
}

func newConstructorLog(t *Trace, g *Graph) *constructorLog {
	l := &constructorLog{trace: t, byName: map[[2]string]*Constructor{}, waitedFor: map[string][]string{}}
	for _, c := range g.Constructors {
		name := c.symbol
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		l.byName[[2]string{c.Component, name + "()"}] = c
	}
	for _, e := range g.Edges() {
		l.waitedFor[e.Consumer] = append(l.waitedFor[e.Consumer], e.Provider)
	}
	for _, from := range l.waitedFor {
		slices.Sort(from)
	}
	return l
}

// LogEvent is called by fx for everything it does.
func (l *constructorLog) LogEvent(event fxevent.Event) {
	run, ok := event.(*fxevent.Run)
	if !ok {
		return
	}
	c := l.byName[[2]string{run.ModuleName, run.Name}]
	if c == nil {
		return
	}
	l.trace.constructed(c, slices.Compact(slices.Clone(l.waitedFor[c.ID])), run.Runtime, run.Err)
	if run.Err != nil && l.failed == nil {
		l.failed, l.err = c, dig.RootCause(run.Err) // without fx's own words, which name files of the build machine
		if p := (dig.PanicError{}); errors.As(run.Err, &p) {
			l.err = &panicError{value: p.Panic}
		}
	}
}
