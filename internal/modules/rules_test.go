package modules

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/mutate"
	"github.com/meshd/meshd/internal/lifecycle/rules"
)

// find gives everything that the graph check, the plan and the rules have to say of a component list.
func find(components []lifecycle.Component) []lifecycle.Violation {
	plan, violations := lifecycle.Analyze(components)
	return append(violations, rules.CheckAll(plan)...)
}

func testOptions() Options { return Variants()[0].Options }

type edit func(reflect.StructField) (reflect.StructField, bool)

// drop removes a parameter: "arg 1", or a field of a parameter struct.
func drop(name string) edit {
	return func(f reflect.StructField) (reflect.StructField, bool) { return f, f.Name != name }
}

// phase moves the steps of a constructor to another phase.
func phase(name string) edit { return tag("phase", name) }

// tag gives a tag of steps another value, or removes it if the value is empty.
func tag(key, value string) edit {
	return func(f reflect.StructField) (reflect.StructField, bool) {
		old, ok := f.Tag.Lookup(key)
		if ok && f.Type == reflect.TypeFor[lifecycle.Step]() {
			with := ""
			if value != "" {
				with = key + `:"` + value + `"`
			}
			f.Tag = reflect.StructTag(strings.Replace(string(f.Tag), key+`:"`+old+`"`, with, 1))
		}
		return f, true
	}
}

// retype changes the type of a result.
func retype(name string, t reflect.Type) edit {
	return func(f reflect.StructField) (reflect.StructField, bool) {
		if f.Name == name {
			f.Type = t
		}
		return f, true
	}
}

// mutants break a rule with one edit each. A rule without a mutant does not count as kept.
var mutants = []struct {
	rule, what string
	ctor       any
	edit       edit
}{
	{"probes-before-health-port", "the checker does not take the components' probes", newChecker, drop("Probes")},
	{"probes-before-health-port", "the checker does not take the steps' probes", newChecker, drop("Trace")},
	{"probes-before-health-port", "the health port is opened without the checker", newHealthPort, drop("arg 1")},
	{"probes-before-health-port", "the monitoring port is opened without the checker", newMonitoringPort, drop("Checker")},
	{"probes-before-health-port", "the plaintext port contributes no probe", newPlaintextPort, tag("probe", "")},
	{"probes-before-health-port", "the source contributes no probe", newDirectoryLoad, tag("probe", "")},
	{"probes-before-health-port", "the snapshot contributes no probe", newCatchUp, tag("probe", "")},

	{"controllers-before-generators", "the table is built without the generators", newTable, drop("Generators")},
	{"controllers-before-generators", "the server is built without the table", newDiscovery, drop("Table")},

	{"ca-registered-before-listen", "the server is built without its services", newPlaintextServer, drop("Services")},
	{"ca-registered-before-listen", "the port is opened without the server", newPlaintextPort, drop("Server")},
	{"ca-registered-before-listen", "the port is opened before phase Listen", newPlaintextPort, phase("register")},

	{"server-before-registration", "the service is not made of the xDS server", newPlaintextDiscovery, drop("arg 0")},
	{"server-before-registration", "the service is meant for another server", newPlaintextDiscovery, retype("Service", reflect.TypeFor[Service[*lifecycle.Trace]]())},

	{"snapshot-before-ready", "catching up does not wait for the source", newCatchUp, drop("Synced")},
	{"snapshot-before-ready", "catching up does not count the changes", newCatchUp, drop("Changes")},
	{"snapshot-before-ready", "catching up does not wait for the compiler", newCatchUp, drop("Publisher")},
	{"snapshot-before-ready", "catching up comes before the source", newCatchUp, phase("register")},
	{"snapshot-before-ready", "catching up comes after the ports", newCatchUp, phase("announce")},
	{"snapshot-before-ready", "catching up does not open the gate", newCatchUp, tag("sets", "")},
	{"snapshot-before-ready", "the compiler does not wait for the source", newCompileLoop, drop("Synced")},
	{"snapshot-before-ready", "the compiler runs only after the source", newCompileLoop, phase("listen")},
	{"snapshot-before-ready", "the snapshot does not read the mesh config", newPublisher, drop("arg 2")},
	{"snapshot-before-ready", "the port is opened without a snapshot", newPlaintextPort, drop("Snapshots")},
	{"snapshot-before-ready", "ready is announced before the snapshot", newAnnouncement, phase("load")},

	{"environment-before-discovery", "the snapshot has no stores", newPublisher, drop("arg 1")},
	{"environment-before-discovery", "the source has no stores", newDirectory, drop("arg 1")},
	{"environment-before-discovery", "the server cannot tell that there is no snapshot yet", newDiscovery, drop("Live")},
	{"environment-before-discovery", "the server does not follow snapshots", newDiscovery, drop("Gate")},
	{"environment-before-discovery", "pushes are not the server's", newPush, drop("arg 0")},

	{"handlers-before-events", "the stores have no handler", newStores, drop("arg 0")},
	{"handlers-before-events", "the compiler runs only after the source", newCompileLoop, phase("lead")},
	{"handlers-before-events", "the mesh config has no handler", newMeshSource, drop("arg 1")},

	{"listeners-last", "the port is opened while things are being loaded", newPlaintextPort, phase("load")},
	{"listeners-last", "the port is opened in phase Sync", newPlaintextPort, phase("sync")},
	{"listeners-last", "the port is opened on an address that was not claimed", newPlaintextPort, drop("Sockets")},
	{"listeners-last", "the order of ports is left to luck", newPlaintextPort, tag("rank", "")},
	{"listeners-last", "a port is opened that no tag tells of", newPlaintextPort, tag("listener", "")},
	{"listeners-last", "addresses are claimed late", newSockets, phase("listen")},
	{"listeners-last", "claimed addresses are handed to nobody", newSockets, tag("sets", "")},
	{"listeners-last", "an admin port is opened late", newHealthPort, phase("listen")},

	{"steps-return", "the source waits a minute and says for nothing", newDirectoryLoad, tag("waits", "")},

	{"stop-is-reverse", "not ready is said after the ports have closed", newAnnouncement, phase("sync")},
	{"stop-is-reverse", "not ready is said to nobody", newAnnouncement, drop("arg 0")},
	{"stop-is-reverse", "pushes stop before the streams have moved", newPush, phase("announce")},
	{"stop-is-reverse", "ports close without the streams having moved", newPlaintextPort, drop("XDS")},
	{"stop-is-reverse", "health goes before the ports", newMonitoringPort, phase("announce")},
}

func TestMutants(t *testing.T) {
	components := All(testOptions())
	if found := find(components); len(found) > 0 {
		t.Fatalf("the real list breaks rules: %v", found)
	}
	for _, m := range mutants {
		t.Run(m.rule+"/"+m.what, func(t *testing.T) {
			mutant := lifecycle.Edit(components, m.ctor, m.edit)
			if reflect.DeepEqual(kinds(components), kinds(mutant)) {
				t.Fatal("the edit changed nothing")
			}
			found := find(mutant)
			if !slices.ContainsFunc(found, func(v lifecycle.Violation) bool { return v.Rule == m.rule && v.Symptom != "" }) {
				t.Errorf("rule %s does not catch it; found: %v", m.rule, found)
			}
		})
	}
}

// kinds gives the types of all constructors, which is all that Derive sees of them.
func kinds(components []lifecycle.Component) (out []reflect.Type) {
	for _, c := range components {
		for _, fn := range c.New {
			if e, ok := fn.(lifecycle.Edited); ok {
				out = append(out, e.Type)
			} else {
				out = append(out, reflect.TypeOf(fn))
			}
		}
	}
	return out
}

// Level 1 of controllers-before-generators: a type that is advertised without a generator is an error of construction.
func TestMissingGeneratorFailsConstruction(t *testing.T) {
	for _, ctor := range []any{newClusterGenerator, newEndpointGenerator, newListenerGenerator, newRouteGenerator, newProxylessGenerators} {
		o := testOptions()
		o.Log = zap.NewNop()
		components := All(o)
		for i, c := range components {
			components[i].New = slices.DeleteFunc(slices.Clone(c.New), func(fn any) bool {
				return reflect.ValueOf(fn).Pointer() == reflect.ValueOf(ctor).Pointer()
			})
		}
		_, err := lifecycle.New(components, zap.NewNop(), lifecycle.Options{})
		if err == nil || !strings.Contains(err.Error(), "controllers-before-generators") {
			t.Errorf("error %v does not name the rule", err)
		}
	}
}

func TestEveryRuleHasAMutant(t *testing.T) {
	plan, _ := lifecycle.Analyze(All(testOptions()))
	for _, r := range rules.All() {
		if !slices.ContainsFunc(mutants, func(m struct {
			rule, what string
			ctor       any
			edit       edit
		}) bool {
			return m.rule == r.ID
		}) {
			t.Errorf("rule %s has no mutant", r.ID)
		}
		if !r.Applies(plan) {
			t.Errorf("rule %s does not apply to the whole application", r.ID)
		}
	}
}

// Whatever is wrong is told with the rule, the symptom, and a place in the code to look at.
func TestViolationsAreComplete(t *testing.T) {
	components := All(testOptions())
	lists := [][]lifecycle.Component{append(slices.Clone(components), components[0]), {}}
	for _, m := range mutate.All(components) {
		lists = append(lists, m.Components)
	}
	for i := range components { // a whole component is missing
		lists = append(lists, slices.Delete(slices.Clone(components), i, i+1))
	}
	place := regexp.MustCompile(`^[a-z/]+(/[a-z_]+\.go:[0-9]+)?$`) // a method's value has no line
	for _, list := range lists {
		for _, v := range find(list) {
			if v.Rule == "" || v.Message == "" || v.Symptom == "" || !place.MatchString(v.Pos) {
				t.Errorf("not complete: %+v", v)
			}
		}
	}
}

// The first snapshot is there within its step's budget, however long changes are made to wait.
func TestDebounceFitsTheBudget(t *testing.T) {
	plan, _ := lifecycle.Analyze(All(testOptions()))
	if s := plan.Graph.Step("snapshot.catch-up"); s.Budget < MaxDebounce+lifecycle.DefaultBudget {
		t.Errorf("step %s has a budget of %s, and its changes may wait %s", s.Name, s.Budget, MaxDebounce)
	}
}

// A port drains within its stop budget, whatever --drain is, and has time left to close.
func TestDrainFitsTheStopBudget(t *testing.T) {
	plan, _ := lifecycle.Analyze(All(testOptions()))
	for _, s := range plan.Steps {
		if s.Phase == lifecycle.Listen && s.StopBudget < MaxDrain+lifecycle.DefaultBudget {
			t.Errorf("step %s has %s to stop, and draining may take %s", s.Name, s.StopBudget, MaxDrain)
		}
	}
}

func TestVariantsAreSound(t *testing.T) {
	for _, v := range Variants() {
		if found := find(All(v.Options)); len(found) > 0 {
			t.Errorf("%s: %v", v.Name, found)
		}
	}
}
