package main

// revert is the code that guards a case, and what stands there without it.
type revert struct {
	// name of the case; its test is TestCaseNAME.
	name string
	// without says what is taken away.
	without string
	pkg     string
	file    string
	old     string
	new     string
}

func reverts() []revert {
	return []revert{
		{"A1", "streams are accepted before there is a snapshot", "./internal/xds", "internal/xds/server.go",
			"	if !ok {\n		return nil, status.Error(codes.Unavailable, \"not ready: configuration is not compiled yet\")",
			"	if !ok {\n		live, ok = snapshot.NewLive(&snapshot.Snapshot{}), true\n	}\n	if !ok {\n		return nil, status.Error(codes.Unavailable, \"\")"},
		{"A1", "the port is opened before the source is loaded", "./internal/modules", "internal/modules/listeners.go",
			"				return slot.Set(ctx, sockets)",
			"				go func() {\n					port, err := sockets.Listen(\"--grpc-addr\")\n					if err == nil {\n						for {\n							_, _ = port.Accept()\n						}\n					}\n				}()\n				return slot.Set(ctx, sockets)"},
		{"A2", "the source being loaded is taken for everything being compiled", "./internal/modules", "internal/modules/snapshot.go",
			"live, err := in.Publisher.Wait(ctx, in.Changes.Added())",
			"live, err := snapshot.NewLive(&snapshot.Snapshot{}), error(nil)"},
		{"A4", "a step counts as done when it is called", "./internal/modules", "internal/lifecycle/running.go",
			"span.State, span.Started, span.Waits = Starting, now, s.info.Waits",
			"span.State, span.Started, span.Waits = Started, now, s.info.Waits"},
		{"A11", "the snapshot is compiled without the mesh config", "./internal/modules", "internal/modules/snapshot.go",
			"		return live.Current()",
			"		_ = live\n		return mesh.Default()"},
		{"A20", "a list looks its objects up while it holds the lock", "./internal/config", "internal/config/stores.go",
			"	for _, obj := range r.store.objects {\n		out = append(out, obj)\n",
			"	for name, obj := range r.store.objects {\n		r.Get(name)\n		out = append(out, obj)\n"},
		{"A21", "what started in earlier phases is not stopped when a start fails", "./internal/lifecycle", "internal/lifecycle/runner.go",
			"OnStop:  func(context.Context) error { r.stopPhase(phase); return nil },",
			"OnStop:  func(context.Context) error { return nil },"},
		{"A21", "a step that ignores its context holds the start up for ever", "./internal/lifecycle", "internal/lifecycle/running.go",
			"		case <-grace.C:\n			s.mu.Lock()",
			"		case <-make(chan int):\n			s.mu.Lock()"},
		{"A23", "a start step has no limit", "./internal/lifecycle", "internal/lifecycle/running.go",
			"		case <-budget.C:",
			"		case <-make(chan int):"},
		{"A24", "a step's work is not asked to end before it is stopped", "./internal/lifecycle", "internal/lifecycle/running.go",
			"	cancel(errors.New(\"the step is being stopped\"))",
			""},
	}
}
