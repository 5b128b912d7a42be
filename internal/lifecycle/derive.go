package lifecycle

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/dig"
)

// DefaultBudget is how long a step may take to start, and to stop, unless its tags say otherwise.
const DefaultBudget = 5 * time.Second

var (
	stepType  = reflect.TypeFor[Step]()
	errorType = reflect.TypeFor[error]()
)

// Derive reads the graph out of the component list, by reflection only: no constructor runs. Faults of the list
// itself are in Malformed; Check finds the others.
func Derive(components []Component) *Graph {
	g := &Graph{Components: slices.Clone(components), providers: map[Key][]*Constructor{}, slots: map[reflect.Type]*slotInfo{}}
	slices.SortFunc(g.Components, func(a, b Component) int { return cmp.Compare(a.Name, b.Name) })
	for i, c := range g.Components {
		if i > 0 && c.Name == g.Components[i-1].Name {
			g.malformed("component-unique", c.pos(), "two components have the name %q", c.Name)
		}
		for _, fn := range c.New {
			g.addConstructor(c, fn)
		}
	}
	slices.SortFunc(g.Constructors, func(a, b *Constructor) int { return cmp.Compare(a.ID, b.ID) })
	for i, c := range g.Constructors {
		if i > 0 && c.ID == g.Constructors[i-1].ID {
			g.malformed("constructor-unique", c.Pos(), "constructor %s is listed twice", c.ID)
		}
		for _, r := range c.Results {
			g.providers[r.Key] = append(g.providers[r.Key], c)
			if r.Role == RoleLoaded && g.slots[r.Of] == nil {
				g.slots[r.Of] = &slotInfo{owner: c, loaded: r.Key.Type, field: strings.TrimSuffix(r.Field, ".Loaded")}
			}
		}
	}
	g.index()
	for _, s := range g.steps {
		g.resolveSets(s)
	}
	sortViolations(g.Malformed)
	return g
}

func (g *Graph) malformed(rule, pos, format string, args ...any) {
	g.Malformed = append(g.Malformed, Violation{Rule: rule, Pos: pos, Message: fmt.Sprintf(format, args...), Symptom: malformedSymptoms[rule]})
}

// malformedSymptoms says for each rule about the list itself what a user would see.
var malformedSymptoms = map[string]string{
	"component-unique":   "two parts look like one in the graph, the log and the trace",
	"constructor-unique": "the process does not start",
	"plain-constructors": "the process does what the graph does not show",
	"groups":             "a part reads less than the whole group, or the process does not start",
	"step-tags":          "a step runs at another time than was meant, or the process does not start",
	"one-setter":         "the start fails at the second step that sets the value",
}

// pos is where the first of the component's functions is written, or the component's name if it has none.
func (c Component) pos() string {
	for _, fn := range c.New {
		if e, ok := fn.(Edited); ok {
			fn = e.Original
		}
		if v := reflect.ValueOf(fn); v.Kind() == reflect.Func && !v.IsNil() {
			var at Constructor
			at.locate(fn)
			return at.Pos()
		}
	}
	return "component " + c.Name
}

// index gathers the steps and finds the names that two of them share.
func (g *Graph) index() {
	for _, c := range g.Constructors {
		g.steps = append(g.steps, c.Steps...)
	}
	sortSteps(g.steps)
	g.byName = make(map[string]*StepInfo, len(g.steps))
	for _, s := range g.steps {
		if other := g.byName[s.Name]; other != nil {
			g.malformed("step-tags", s.Constructor.Pos(), "step field %s of %s: the name %q belongs to field %s of %s already",
				s.Field, s.Constructor.ID, s.Name, other.Field, other.Constructor.ID)
			continue
		}
		g.byName[s.Name] = s
	}
}

func (g *Graph) addConstructor(component Component, entry any) {
	fn, t := entry, reflect.TypeOf(entry)
	if e, ok := entry.(Edited); ok {
		fn, t = e.Original, e.Type
	}
	if t == nil || t.Kind() != reflect.Func || reflect.ValueOf(fn).IsNil() {
		g.malformed("plain-constructors", component.pos(),
			"component %s: entry of type %T is not a function (or is nil): options, annotations, invokes and decorators have no place in a component", component.Name, entry)
		return
	}
	_, edited := entry.(Edited)
	c := &Constructor{Component: component.Name, fn: fn, edited: edited}
	c.locate(fn)
	c.ID = component.Name + "/" + c.Func
	if t.IsVariadic() {
		g.malformed("plain-constructors", c.Pos(), "constructor %s is variadic", c.ID)
	}
	for i := range t.NumIn() {
		g.addParam(c, t.In(i), "arg "+strconv.Itoa(i), "")
	}
	for i := range t.NumOut() {
		if t.Out(i) == errorType {
			continue
		}
		g.addResult(c, t.Out(i), "result "+strconv.Itoa(i), "")
	}
	g.Constructors = append(g.Constructors, c)
}

// locate finds the function's name and place. Functions are shown relative to their module: the import path says
// where, and paths of the machine that built the binary do not belong in output.
func (c *Constructor) locate(fn any) {
	f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer())
	c.symbol = f.Name()
	slash := strings.LastIndexByte(c.symbol, '/')
	dot := slash + 1 + strings.IndexByte(c.symbol[slash+1:], '.')
	c.Package, c.Func = c.symbol[:dot], strings.TrimSuffix(c.symbol[dot+1:], "-fm")
	c.Func = strings.ReplaceAll(c.Func, "[...]", "") // an instance of something generic
	if plain, err := url.PathUnescape(c.Package); err == nil {
		c.Package = plain // the linker escapes dots in the last element
	}
	file, line := f.FileLine(f.Entry())
	const module = "github.com/meshd/meshd/"
	c.File, c.Line = path.Join(strings.TrimPrefix(c.Package, module), path.Base(file)), line
	if file == "<autogenerated>" { // a method value: the compiler does not say where the method is written
		c.File, c.Line = strings.TrimPrefix(c.Package, module), 0
	}
}

func (g *Graph) addParam(c *Constructor, t reflect.Type, field string, tag reflect.StructTag) {
	if dig.IsIn(t) {
		for i := range t.NumField() {
			// fx refuses a field that is not exported, unless it is told to leave such fields out.
			if f := t.Field(i); f.Type != reflect.TypeFor[dig.In]() && f.IsExported() {
				g.addParam(c, f.Type, f.Name, f.Tag)
			}
		}
		return
	}
	p := Param{Field: field, Key: Key{Type: t, Name: tag.Get("name")}, Optional: tag.Get("optional") == "true"}
	p.Role, p.Of = roleOf(t)
	if group := tag.Get("group"); group != "" {
		name, option, _ := strings.Cut(group, ",")
		p.Role = RoleGroup
		if option != "" {
			g.malformed("groups", c.Pos(), "%s: field %s reads group %q with the option %q: only the whole group is of use", c.ID, field, name, option)
		}
		if t.Kind() != reflect.Slice {
			g.malformed("groups", c.Pos(), "%s: field %s reads group %q into %s, which is not a slice", c.ID, field, name, typeName(t))
			return
		}
		p.Key = Key{Type: t.Elem(), Group: name}
	}
	c.Params = append(c.Params, p)
}

func (g *Graph) addResult(c *Constructor, t reflect.Type, field string, tag reflect.StructTag) {
	if dig.IsOut(t) {
		prefix := ""
		if !strings.HasPrefix(field, "result ") {
			prefix = field + "."
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.Type != reflect.TypeFor[dig.Out]() {
				g.addResult(c, f.Type, prefix+f.Name, f.Tag)
			}
		}
		return
	}
	r := Result{Field: field, Key: Key{Type: t, Name: tag.Get("name")}}
	r.Role, r.Of = roleOf(t)
	if group := tag.Get("group"); group != "" {
		name, option, _ := strings.Cut(group, ",")
		r.Role, r.Key = RoleGroup, Key{Type: t, Group: name}
		if option == "flatten" && t.Kind() == reflect.Slice {
			r.Key.Type = t.Elem()
		}
	}
	c.Results = append(c.Results, r)
	if t == stepType {
		g.addStep(c, field, tag)
	}
}

func roleOf(t reflect.Type) (Role, reflect.Type) {
	if t == stepType {
		return RoleStep, nil
	}
	own := t // a type of this package, not one that embeds such a type or points to it
	if t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().Name(), "Slot[") {
		own = t.Elem()
	}
	if own.Kind() == reflect.Struct && own.PkgPath() == lifecyclePath {
		if r, ok := reflect.Zero(t).Interface().(roled); ok {
			return r.role()
		}
	}
	return RoleValue, nil
}

var stepTags = []string{"name", "phase", "budget", "stop", "sets", "waits", "listener", "probe", "rank"}

func (g *Graph) addStep(c *Constructor, field string, tag reflect.StructTag) {
	s := &StepInfo{
		Name: tag.Get("name"), Component: c.Component, Constructor: c, Field: field, Index: len(c.Steps),
		Budget: DefaultBudget, StopBudget: DefaultBudget, setsTag: tag.Get("sets"),
		Waits: tag.Get("waits"), Listener: tag.Get("listener"), Probe: tag.Get("probe"),
	}
	bad := func(format string, args ...any) {
		g.malformed("step-tags", c.Pos(), "step field %s of %s: %s", field, c.ID, fmt.Sprintf(format, args...))
	}
	for _, key := range tagKeys(tag) {
		if !slices.Contains(stepTags, key) {
			bad("unknown tag %q: want one of %s", key, strings.Join(stepTags, ", "))
		}
	}
	if s.Name == "" {
		bad("tag name is missing")
	}
	var err error
	if s.Phase, err = ParsePhase(tag.Get("phase")); err != nil {
		bad("tag phase: %v", err)
	}
	for key, d := range map[string]*time.Duration{"budget": &s.Budget, "stop": &s.StopBudget} {
		if text := tag.Get(key); text != "" {
			if *d, err = time.ParseDuration(text); err != nil || *d <= 0 {
				bad("tag %s: %q is not a positive duration", key, text)
			}
		}
	}
	if text := tag.Get("rank"); text != "" {
		s.Ranked = true
		if s.Rank, err = strconv.Atoi(text); err != nil {
			bad("tag rank: %q is not a number", text)
		}
	}
	c.Steps = append(c.Steps, s)
}

// tagKeys lists the keys of a struct tag, so that a misspelt one cannot be overlooked.
func tagKeys(tag reflect.StructTag) []string {
	var keys []string
	rest := string(tag)
	for {
		key, after, ok := strings.Cut(strings.TrimLeft(rest, " "), ":")
		if !ok {
			return keys
		}
		keys = append(keys, key)
		value, err := strconv.QuotedPrefix(after)
		if err != nil {
			return keys
		}
		rest = after[len(value):]
	}
}

// resolveSets finds the slots that a step's sets tag names: fields that publish, of its own constructor first, then
// of the other constructors of its component.
func (g *Graph) resolveSets(s *StepInfo) {
	if s.setsTag == "" {
		return
	}
	for field := range strings.SplitSeq(s.setsTag, ",") {
		field = strings.TrimSpace(field)
		found := g.published(s, field)
		if len(found) != 1 {
			g.malformed("step-tags", s.Constructor.Pos(), "step %s: tag sets names %q, and %d constructors of component %s publish such a field: want one", s.Name, field, len(found), s.Component)
			continue
		}
		of := found[0]
		slot := g.slots[of]
		if slot.setter != nil {
			g.malformed("one-setter", s.Constructor.Pos(), "steps %s and %s both set %s", slot.setter.Name, s.Name, typeName(of))
			continue
		}
		slot.setter = s
		s.Sets = append(s.Sets, of)
	}
}

// published finds the types of the slots that a name stands for: of the step's own constructor if it publishes one
// by that name, otherwise of the other constructors of its component.
func (g *Graph) published(s *StepInfo, field string) []reflect.Type {
	find := func(c *Constructor) (found []reflect.Type) {
		for _, r := range c.Results {
			if r.Role == RoleLoaded && r.Field == field+".Loaded" {
				found = append(found, r.Of)
			}
		}
		return found
	}
	if own := find(s.Constructor); own != nil {
		return own
	}
	var found []reflect.Type
	for _, c := range g.Constructors {
		if c.Component == s.Component {
			found = append(found, find(c)...)
		}
	}
	return found
}

func sortEdges(edges []Edge) {
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Via, b.Via))
	})
}

func sortSteps(steps []*StepInfo) {
	slices.SortFunc(steps, func(a, b *StepInfo) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Name, b.Name))
	})
}
