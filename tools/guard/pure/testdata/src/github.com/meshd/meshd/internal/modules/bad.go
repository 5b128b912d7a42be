package modules

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/meshd/meshd/internal/deep"
	"github.com/meshd/meshd/internal/foo"
	"github.com/meshd/meshd/internal/lifecycle"
)

func newDirect() int       { time.Now(); return 0 }
func newFoo() *foo.T       { return foo.New() }
func newOpen(t *foo.T) int { return len(t.Open()) }
func newGo() int           { go foo.NewPure(); return 0 }
func newBox() any          { return foo.NewBox(1) }

func primitives() lifecycle.Component {
	return lifecycle.Component{Name: "primitives", New: []any{
		newDirect,       // want `constructor newDirect is not pure: newDirect → time.Now \(bad.go:28\), which reads the clock; do it in a step`
		newFoo,          // want `constructor newFoo is not pure: newFoo → foo.New → deep.Clock → deep.clock → time.Now \(deep.go:12\), which reads the clock`
		newOpen,         // want `newOpen → foo.T.Open → deep.Load → deep.load → os.ReadFile \(deep.go:21\), which does I/O`
		newGo,           // want `newGo → go statement \(bad.go:31\), which starts a goroutine`
		newBox,          // want `newBox → foo.NewBox → foo.Box.Fill → deep.Clock`
		foo.New,         // want `constructor foo.New is not pure: foo.New → deep.Clock → `
		time.Now,        // want `constructor time.Now is not pure: time.Now \(bad.go:\d+\)`
		foo.NewBox[int], // want `constructor foo.NewBox\[int\] is not pure: foo.NewBox\[int\] → foo.Box.Fill`

		func() { os.Getenv("X") },                                      // want `constructor func literal is not pure: func literal → os.Getenv \(bad.go:\d+\), which reads or changes the process`
		func() { os.Open("x") },                                        // want `os.Open`
		func(f *os.File) { f.Write(nil) },                              // want `os.File.Write`
		func() { signal.Notify(nil) },                                  // want `signal.Notify`
		func() { exec.Command("x") },                                   // want `exec.Command`
		func() { net.LookupHost("x") },                                 // want `net.LookupHost .*which uses the network`
		func() { net.Listen("tcp", "") },                               // want `net.Listen .*which opens a port`
		func() { (&net.Dialer{}).Dial("", "") },                        // want `net.Dialer.Dial`
		func() { http.Get("x") },                                       // want `http.Get`
		func() { new(http.Client).Do(nil) },                            // want `http.Client.Do`
		func() { syscall.Stat("x", nil) },                              // want `syscall.Stat`
		func() { fmt.Println() },                                       // want `fmt.Println .*writes output`
		func() { fmt.Fprintln(os.Stderr) },                             // want `fmt.Fprintln .*writes output`
		func(l *zap.Logger) { l.Info("x") },                            // want `zap.Logger.Info .*writes output`
		func() { time.NewTimer(1) },                                    // want `time.NewTimer`
		func() { fsnotify.NewWatcher() },                               // want `fsnotify.NewWatcher .*starts a goroutine`
		func() { grpc.NewClient("x") },                                 // want `grpc.NewClient`
		func() { record.NewBroadcaster() },                             // want `record.NewBroadcaster`
		func() { trace.NewBatchSpanProcessor(nil) },                    // want `trace.NewBatchSpanProcessor`
		func() { workqueue.NewTypedRateLimitingQueue[int](nil) },       // want `workqueue.NewTypedRateLimitingQueue`
		func() { workqueue.NewTypedDelayingQueueWithConfig[int](nil) }, // want `workqueue.NewTypedDelayingQueueWithConfig`
		func() { context.WithTimeout(context.Background(), 1) },        // want `context.WithTimeout .*reads the clock`
		func(wg *sync.WaitGroup) { wg.Go(func() {}) },                  // want `sync.WaitGroup.Go .*starts a goroutine`
	}}
}

type maker struct{}

func (maker) make() int  { return newDirect() }
func (*maker) init() int { deep.Clock(); return 0 }

func newStored() any { f := func() { sleep() }; return f }
func newCalled() any { f := func() { sleep() }; f(); return f }
func newNow() any    { return now() }

func callers(m *maker, unknown any) lifecycle.Component {
	return lifecycle.Component{Name: "callers", New: []any{
		newStored,
		newCalled,                             // want `newCalled → modules.sleep → time.Sleep \(good.go:\d+\)`
		newNow,                                // want `newNow → time.Now`
		m.make,                                // want `constructor m.make is not pure: m.make → modules.newDirect → time.Now`
		(*maker).init,                         // want `maker.*init → deep.Clock`
		func() { func() { sleep() }() },       // want `func literal → modules.sleep`
		func() { defer func() { sleep() }() }, // want `func literal → modules.sleep`
		func() { defer sleep() },              // want `func literal → modules.sleep`
		func() { foo.Each(1, func() { sleep() }) },                                       // want `func literal → modules.sleep`
		func() { foo.Each(1, sleep) },                                                    // want `func literal → modules.sleep`
		func() { new(sync.Once).Do(sleep) },                                              // want `func literal → modules.sleep`
		func() { slices.ContainsFunc([]int{}, func(int) bool { sleep(); return true }) }, // want `func literal → modules.sleep`
		func() { // want `func literal → modules.sleep`
			for range sequence() {
			}
		},
		func() { foo.All(func() {}, foo.Later(nil), sleep) }, // want `func literal → modules.sleep`
		func() { // want `func literal → modules.sleep`
			for _, f := range []func(){func() {}, sleep} {
				f()
			}
		},
		func() { foo.Store(nil); foo.Store(func() {}); foo.New() }, // want `func literal → foo.New`
		unknown, // want `constructor unknown can't be checked: list functions by name`
	}}
}

func sequence() func(yield func() bool) { return func(func() bool) { sleep() } }

func newMade(port string) func() int { return func() int { sleep(); return len(port) } }

func newFine(port string) func() int { return func() int { return len(port) } }

func newLate() func() int { sleep(); return func() int { return 0 } }

func shapes(flag bool, given []any) []*lifecycle.Component {
	list := []any{newFine("1"), newMade("2")} // want `constructor newMade\("2"\) is not pure: newMade\("2"\) → modules.sleep`
	if flag {
		list = append(list, newDirect) // want `constructor newDirect is not pure`
	}
	var c lifecycle.Component
	c.New = append(c.New, newFoo) // want `constructor newFoo is not pure`
	local := func() { sleep() }
	return []*lifecycle.Component{
		{"unkeyed", "", []any{newGo}}, // want `constructor newGo is not pure`
		{New: list},
		{New: append(make([]any, 0, 2), local)}, // want `constructor local is not pure: local → modules.sleep`
		{New: []any{newLate()}},                 // want `constructor newLate\(\) is not pure: newLate\(\) → modules.newLate → modules.sleep`
		{New: given},                            // want `constructor given can't be checked`
		&c,
	}
}

var started = time.Now() // want `package variable started is not pure: time.Now \(bad.go:\d+\), which reads the clock; it happens before main`

var box = foo.NewBox(2) // want `package variable box is not pure: foo.NewBox → foo.Box.Fill → deep.Clock`
