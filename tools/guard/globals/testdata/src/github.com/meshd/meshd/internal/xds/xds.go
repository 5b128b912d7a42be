package xds

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

func init() {} // want `func init: what it does happens before main`

var log = zap.NewNop() // want `package variable log holds a logger \(zap.Logger\)`

var (
	registry = prometheus.NewRegistry()                        // want `package variable registry holds metrics \(prometheus.Registry\)`
	pushes   = prometheus.NewCounter(prometheus.CounterOpts{}) // want `package variable pushes holds metrics \(prometheus.Counter\)`
	byName   = map[string]prometheus.Counter{}                 // want `package variable byName holds metrics`
	mu       sync.Mutex                                        // want `package variable mu holds a lock \(sync.Mutex\)`
	once     = new(sync.Once)                                  // want `package variable once holds a lock \(sync.Once\)`
	count    atomic.Int64                                      // want `package variable count holds shared state`
	cache    = newCache()                                      // want `package variable cache holds a lock \(sync.RWMutex\)`
	state    struct{ inner struct{ wg sync.WaitGroup } }       // want `package variable state holds a lock`
)

type store struct {
	mu   sync.RWMutex
	next *store
}

func newCache() *store { return &store{} }

type server struct {
	mu  sync.Mutex
	log *zap.Logger
}

var (
	ErrNope             = errors.New("nope")
	desc                = prometheus.NewDesc("x")
	opts                = prometheus.CounterOpts{Name: "x"}
	pool                = sync.Pool{New: func() any { return nil }}
	names               = map[string]int{"a": 1}
	client              = http.Client{}
	_       sync.Locker = (*sync.Mutex)(nil)
	make_               = func() *server { return &server{} }
)

type init_ struct{}

func (init_) init() {}

func use() {
	var local sync.Mutex
	local.Lock()
	zap.L()                          // want `go.uber.org/zap.L is global state: take a \*zap.Logger in the constructor`
	_ = prometheus.DefaultRegisterer // want `DefaultRegisterer is global state: take a \*prometheus.Registry`
	http.HandleFunc("/", nil)        // want `net/http.HandleFunc is global state: make a mux`
	_ = prometheus.DefBuckets
	http.NewServeMux().HandleFunc("/x", nil)
}
