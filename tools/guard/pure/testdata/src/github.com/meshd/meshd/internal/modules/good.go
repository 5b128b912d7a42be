package modules

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/client-go/util/workqueue"

	"github.com/meshd/meshd/internal/deep"
	"github.com/meshd/meshd/internal/foo"
	"github.com/meshd/meshd/internal/lifecycle"
)

type out struct{ Create lifecycle.Step }

func newGood(log *zap.Logger, o foo.Opener, c chan int) (out, error) {
	_ = grpc.NewServer()
	_ = zap.NewNop()
	_ = log.Named("x")
	_ = trace.NewTracerProvider()
	_ = workqueue.DefaultTypedControllerRateLimiter[string]()
	_ = fmt.Sprint(foo.NewPure(), deep.Pure(), os.ModePerm, os.Stderr, 5*time.Second)
	var sb strings.Builder
	fmt.Fprintln(&sb, os.ErrNotExist, os.IsNotExist(nil))
	rand.Read(nil)
	o.Open() // an interface: not known
	slices.SortFunc([]int{}, func(a, b int) int { return a - b })
	foo.Store(func() { time.Now() })
	foo.Store(sleep)
	_ = foo.Later(func() { time.Now() })
	_ = sync.OnceFunc(func() { time.Now() })
	later := func() { go sleep() }
	t := foo.NewPure()
	t.Now() // a field: not known
	return out{lifecycle.Step{
		Start: func(ctx context.Context) error { later(); _, err := os.ReadFile("x"); return err },
		Run:   t.Run,
		Stop:  func(context.Context) error { go later(); return nil },
	}}, nil
}

func sleep() { time.Sleep(1) }

func good() lifecycle.Component {
	return lifecycle.Component{Name: "good", New: []any{newGood, foo.NewPure, func() int { return deep.Pure() }}}
}

// notAConstructor reads the clock, and may.
func notAConstructor() { sleep() }

var (
	table = strings.Fields("a b")
	now   = time.Now
	act   = func() { sleep() }
)
