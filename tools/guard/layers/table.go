package layers

// A Rule forbids imports to some packages. Patterns are those of house.Match.
type Rule struct {
	// Packages that the rule binds.
	Packages []string
	// Never may they import these.
	Never []string
	// Only these packages of this module, and those that the rule binds, may they import. Nil means no such limit.
	Only []string
	// Through: the imports of imports within this module count too.
	Through bool
	// Why is printed with every violation.
	Why string
}

// Rules are the import directions of DESIGN.md, seen from the package that imports.
var Rules = []Rule{{
	Packages: []string{"internal/model/..."},
	Only:     []string{},
	Why:      "model is plain data that all others speak in, so it stands below all of them",
}, {
	Packages: []string{"internal/snapshot/..."},
	Only:     []string{"internal/model/...", "internal/config/...", "internal/mesh/...", "internal/registry/..."},
	Why:      "a snapshot is compiled from the stores and from nothing else",
}, {
	Packages: []string{"internal/translate/..."},
	Only:     []string{"internal/model/...", "internal/snapshot/..."},
	Why:      "translation is a pure function of a snapshot and a class",
}, {
	Packages: []string{"internal/model/...", "internal/snapshot/...", "internal/translate/..."},
	Never:    []string{"google.golang.org/grpc/...", "k8s.io/client-go/...", "go.uber.org/fx/...", "go.uber.org/dig/...", "time", "os", "os/...", "net/http"},
	Why:      "model, snapshot and translate know nothing of gRPC streams, Kubernetes clients, fx, I/O or time, so that equal input gives equal output",
}, {
	Packages: []string{"internal/config/...", "internal/registry/...", "internal/snapshot/...", "internal/translate/...", "internal/xds/..."},
	Never: []string{"internal/ca/...", "internal/authn/...", "internal/admission/...",
		"internal/leader/...", "internal/kube/leader/...", "internal/kube/election/...", "internal/kube/leaderelection/...",
		"k8s.io/client-go/tools/leaderelection/..."},
	Through: true,
	Why:     "rule hot-path-is-alone: a slow signer or a webhook storm would delay config; authentication reaches xDS as an interceptor wired in internal/modules",
}, {
	Packages: []string{"internal/lifecycle/..."},
	Only:     []string{},
	Why:      "the runner knows steps and phases, not what they start",
}, {
	Packages: []string{"internal/readiness/..."},
	Only:     []string{"internal/lifecycle/..."},
	Why:      "readiness is told what to probe; it must not know who is probed",
}}

// Levels are the floors of the house, the lowest first: a package never imports one of a higher floor. Packages that
// are not listed stand beside them, bound by the other rules only.
var Levels = [][]string{
	{"internal/model/..."},
	{"internal/config/...", "internal/mesh/...", "internal/kube/...", "internal/registry/..."},
	{"internal/snapshot/..."},
	{"internal/translate/..."},
	{"internal/xds/..."},
	{"internal/modules/..."},
	{"internal/cli/..."},
	{"cmd/..."},
}

// LevelsWhy is printed with every violation of Levels.
const LevelsWhy = "dependencies point down only: cli, modules, xds, translate, snapshot, stores, model"

// Private are packages that only some may import.
var Private = []struct {
	Package string
	OnlyBy  []string
	Why     string
}{{
	Package: "internal/modules/...",
	OnlyBy:  []string{"internal/cli/...", "tools/..."},
	Why:     "the assembly stands above all subsystems; one that imports it could reach everything",
}, {
	Package: "internal/cli/...",
	OnlyBy:  []string{"cmd/..."},
	Why:     "the command trees are what the binaries are made of, and nothing else",
}, {
	Package: "internal/testkit/...",
	OnlyBy:  []string{"tools/..."},
	Why:     "test tools are no part of the product",
}, {
	Package: "tools/...",
	OnlyBy:  []string{},
	Why:     "development tools are no part of the product",
}}

// Nameless are path elements that say nothing about what a package is for.
var Nameless = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}
