package lifecycle

import (
	"go.uber.org/fx/fxevent"
)

// constructorLog is fx's logger as far as meshd is concerned: it notes in the trace how long each constructor took.
// What fails reaches the caller as an error.
type constructorLog struct {
	trace *Trace
	graph *Graph
	// byFunc finds a constructor by module and function, as fx's events name them.
	byFunc map[[2]string]*Constructor
}

func newConstructorLog(t *Trace, g *Graph) *constructorLog {
	l := &constructorLog{trace: t, graph: g, byFunc: map[[2]string]*Constructor{}}
	for _, c := range g.Constructors {
		name := c.Package + "." + c.Func
		l.byFunc[[2]string{c.Component, name + "()"}] = c
		l.byFunc[[2]string{c.Component, name + "-fm()"}] = c // a method value
	}
	return l
}

// LogEvent is called by fx for everything it does.
func (l *constructorLog) LogEvent(event fxevent.Event) {
	run, ok := event.(*fxevent.Run)
	if !ok {
		return
	}
	c := l.byFunc[[2]string{run.ModuleName, run.Name}]
	if c == nil {
		return
	}
	var waitedFor []string
	for _, e := range l.graph.Edges() {
		if e.Consumer == c.ID {
			waitedFor = append(waitedFor, e.Provider)
		}
	}
	l.trace.constructed(c, waitedFor, run.Runtime, run.Err)
}
