package pure

import (
	"go/ast"
	"go/types"
	"path"
	"strings"
)

// What a function that is not pure does; printed after the chain of calls that leads to it.
const (
	clock     = "reads the clock"
	io        = "does I/O"
	network   = "uses the network"
	ports     = "opens a port"
	process   = "reads or changes the process"
	output    = "writes output"
	goroutine = "starts a goroutine"
	readsFile = "reads files"
)

// primitives are the functions outside this module that are not pure. Names are separated by spaces: "Now" is a
// function, "File.Read" a method, * stands for any run of characters, and a name after - is taken out again.
// What is not here counts as pure: fmt.Sprintf, zap.New, prometheus.NewRegistry, grpc.NewServer, crypto/rand.
var primitives = []struct{ pkg, does, names string }{
	{"time", clock, "Now Since Until After AfterFunc NewTimer NewTicker Tick Sleep Timer.Reset Ticker.Reset"},
	{"context", clock, "WithTimeout WithTimeoutCause WithDeadline WithDeadlineCause"},
	{"context", goroutine, "AfterFunc"},

	{"os", io, "* -Is* -NewSyscallError -Expand -DirFS -SameFile File.* Root.*"},
	{"os", process, "Exit Getenv LookupEnv Setenv Unsetenv Clearenv Environ ExpandEnv Get*id Getppid Hostname Executable StartProcess FindProcess Process.*"},
	{"os/exec", process, "* Cmd.*"},
	{"os/signal", process, "*"},
	{"os/user", io, "*"},
	{"io/ioutil", io, "* -NopCloser -ReadAll"},
	{"path/filepath", io, "Abs EvalSymlinks Glob Walk WalkDir"},
	{"syscall", io, "* -ByteSliceFromString -BytePtrFromString"},
	{"golang.org/x/sys/unix", io, "* -ByteSliceFromString -BytePtrFromString"},
	{"sync", goroutine, "WaitGroup.Go"},
	{"golang.org/x/sync/errgroup", goroutine, "Group.Go Group.TryGo"},
	{"golang.org/x/time/rate", clock, "Limiter.Allow Limiter.Reserve Limiter.Wait Limiter.WaitN Limiter.Tokens"},

	{"fmt", output, "Print Printf Println Scan Scanf Scanln"},
	{"log", output, "Print* Fatal* Panic* Output Logger.Print* Logger.Fatal* Logger.Panic* Logger.Output"},
	{"log/slog", output, "Debug* Info* Warn* Error* Log* Logger.Debug* Logger.Info* Logger.Warn* Logger.Error* Logger.Log*"},
	{"go.uber.org/zap", output, "Logger.Debug Logger.Info Logger.Warn Logger.Error Logger.DPanic Logger.Log Logger.Sync " +
		"SugaredLogger.Debug* SugaredLogger.Info* SugaredLogger.Warn* SugaredLogger.Error* SugaredLogger.Log*"},

	{"net", network, "Dial* Lookup* Interface* ResolveIPAddr ResolveTCPAddr ResolveUDPAddr Dialer.Dial* Resolver.Lookup* Interface.* *Conn.* *Listener.*"},
	{"net", ports, "Listen* File* ListenConfig.*"},
	{"crypto/tls", network, "Dial* Dialer.Dial*"},
	{"crypto/tls", ports, "Listen"},
	{"crypto/tls", readsFile, "LoadX509KeyPair"},
	{"crypto/x509", readsFile, "SystemCertPool"},
	{"net/http", network, "Get Head Post PostForm Serve ServeTLS Client.Do Client.Get Client.Head Client.Post* Server.Serve* Transport.RoundTrip"},
	{"net/http", ports, "ListenAndServe* Server.ListenAndServe*"},
	{"net/http/httptest", ports, "NewServer NewTLSServer NewUnstartedServer Server.*"},

	{"github.com/prometheus/client_golang/prometheus/collectors", process, "NewGoCollector NewProcessCollector"},
	{"google.golang.org/grpc", goroutine, "Dial DialContext NewClient Server.Serve"},
	{"google.golang.org/grpc/xds", readsFile, "NewGRPCServer"},
	{"google.golang.org/grpc/credentials", readsFile, "NewClientTLSFromFile NewServerTLSFromFile"},
	{"github.com/fsnotify/fsnotify", goroutine, "NewWatcher NewBufferedWatcher"},

	{"k8s.io/client-go/util/workqueue", goroutine, "New*Queue* NewNamed* New NewTyped NewTypedWithConfig NewWithConfig"},
	{"k8s.io/client-go/tools/record", goroutine, "NewBroadcaster*"},
	{"k8s.io/client-go/tools/events", goroutine, "NewBroadcaster* NewEventBroadcasterAdapter*"},
	{"k8s.io/apimachinery/pkg/watch", goroutine, "NewBroadcaster NewLongQueueBroadcaster NewStreamWatcher"},
	{"k8s.io/client-go/rest", readsFile, "InClusterConfig TransportFor HTTPClientFor TLSConfigFor LoadTLSFiles RESTClientFor UnversionedRESTClientFor"},
	{"k8s.io/client-go/tools/clientcmd", readsFile, "BuildConfig* LoadFromFile"},
	{"k8s.io/client-go/kubernetes", readsFile, "NewForConfig NewForConfigOrDie"},
	{"k8s.io/client-go/dynamic", readsFile, "NewForConfig NewForConfigOrDie"},
	{"k8s.io/client-go/metadata", readsFile, "NewForConfig NewForConfigOrDie"},
	{"k8s.io/client-go/discovery", readsFile, "NewDiscoveryClientForConfig NewDiscoveryClientForConfigOrDie"},
	{"k8s.io/client-go/tools/leaderelection", network, "RunOrDie LeaderElector.Run"},

	{"go.opentelemetry.io/otel/sdk/trace", goroutine, "NewBatchSpanProcessor WithBatcher"},
	{"go.opentelemetry.io/otel/sdk/metric", goroutine, "NewPeriodicReader"},
	{"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc", network, "New"},
	{"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp", network, "New"},
}

// runners are functions outside this module that call the functions they are given before they return. Functions
// given to others are taken to be stored.
var runners = map[string]string{
	"slices": "*", "sort": "*", "maps": "*", "strings": "*", "bytes": "*", "iter": "*",
	"sync":  "Once.Do",
	"io/fs": "WalkDir",
}

// primitive says what a function outside this module does that is not pure, or gives "".
func primitive(fn *types.Func) string {
	name := localName(fn)
	does := ""
	for _, p := range primitives {
		if p.pkg == fn.Pkg().Path() && listed(p.names, name) {
			does = p.does // the last entry is the most precise
		}
	}
	return does
}

// runsItsArguments reports whether a function outside this module calls functions that are passed to it.
func runsItsArguments(fn *types.Func) bool {
	return listed(runners[fn.Pkg().Path()], localName(fn))
}

// listed matches a name against a list like those of primitives. A pattern without a dot is for functions only.
func listed(names, name string) bool {
	found := false
	for _, pattern := range strings.Fields(names) {
		pattern, out := strings.CutPrefix(pattern, "-")
		if strings.Contains(pattern, ".") != strings.Contains(name, ".") {
			continue
		}
		if ok, _ := path.Match(pattern, name); ok {
			found = !out
		}
	}
	return found
}

// toStandardStream reports a call such as fmt.Fprintln(os.Stderr, …).
func toStandardStream(info *types.Info, fn *types.Func, call *ast.CallExpr) bool {
	if fn.Pkg().Path() != "fmt" || !strings.HasPrefix(fn.Name(), "Fprint") || len(call.Args) == 0 {
		return false
	}
	sel, ok := ast.Unparen(call.Args[0]).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	obj := info.Uses[sel.Sel]
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "os" && strings.HasPrefix(obj.Name(), "Std")
}

// localName is a function's name within its package: "Now", "File.Read".
func localName(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	t := recv.Type()
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}
