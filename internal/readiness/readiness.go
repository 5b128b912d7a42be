// Package readiness decides whether the process is ready, and says why it is not.
//
// Probes come from two places: from steps whose tag says so, where the probe is the step's success, and from
// components, which contribute a Probe. A part that is switched off contributes neither. Nothing else can turn the
// answer to "ready": not an empty set of probes, and not a start that has not reached its end.
package readiness

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Probe is a readiness check of a component, beyond the success of its steps.
type Probe struct {
	// Name is unique among all probes, those of steps included.
	Name      string
	Component string
	// Check gives nil if the component is ready, and otherwise why not. It must return at once.
	Check func() error
	// Degrades is set where a component that fails its check still serves what it has: the check is then shown as
	// degraded, and the process stays ready, because taking it away would help nobody.
	Degrades bool
}

// Steps are the steps of the start as they stand now.
type Steps interface{ Steps() []lifecycle.StepStatus }

// Check is the answer of one probe.
type Check struct {
	Name      string `json:"name"`
	Component string `json:"component"`
	Ready     bool   `json:"ready"`
	// Degraded is set on a check that is ready, but not well: what is known is served, and cannot be renewed.
	Degraded bool `json:"degraded,omitempty"`
	// Reason says why it is not ready, or degraded; empty if it is neither.
	Reason string `json:"reason,omitempty"`
	// Since is when it became what it is.
	Since time.Time `json:"since"`
}

// Report is the answer of all probes.
type Report struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// Unwell lists the checks that are not ready, and those that are degraded.
func (r Report) Unwell() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Ready && !c.Degraded })
}

// Checker asks all probes.
type Checker struct {
	steps  Steps
	probes []Probe
	log    *zap.Logger
	now    func() time.Time

	asking sync.Mutex
	last   map[string]Check // under asking

	mu        sync.Mutex
	announced bool
}

// announcement is the name of the check that stands for the start having reached its end.
const announcement = "start-up"

// New makes a checker of the complete set of probes. It is an error if two have the same name, or one has none, or no
// function.
func New(steps Steps, probes []Probe, log *zap.Logger) (*Checker, error) {
	seen := map[string]bool{announcement: true}
	for _, s := range steps.Steps() {
		if s.Probe != "" {
			if seen[s.Probe] {
				return nil, fmt.Errorf("readiness probe %q of step %s: another probe has this name", s.Probe, s.Name)
			}
			seen[s.Probe] = true
		}
	}
	for _, p := range probes {
		if p.Name == "" || p.Check == nil {
			return nil, fmt.Errorf("readiness probe %q of component %s has no name or no function", p.Name, p.Component)
		}
		if seen[p.Name] {
			return nil, fmt.Errorf("readiness probe %q of component %s: another probe has this name", p.Name, p.Component)
		}
		seen[p.Name] = true
	}
	probes = slices.Clone(probes) // fx shuffles groups
	slices.SortFunc(probes, func(a, b Probe) int { return cmp.Compare(a.Name, b.Name) })
	return &Checker{steps: steps, probes: probes, log: log, now: time.Now, last: map[string]Check{}}, nil
}

// Announce says that the start has reached its end, or, with false, that the stop has begun.
func (c *Checker) Announce(ready bool) {
	c.mu.Lock()
	c.announced = ready
	c.mu.Unlock()
	c.Report()
}

// Report asks every probe. A probe whose answer changed since it was last asked is logged, once.
func (c *Checker) Report() Report {
	// One at a time: an answer that is older than what was noted would look like a change.
	c.asking.Lock()
	defer c.asking.Unlock()
	var checks []Check
	for _, s := range c.steps.Steps() {
		if s.Probe != "" {
			checks = append(checks, ofStep(s))
		}
	}
	for _, p := range c.probes {
		checks = append(checks, ofProbe(p))
	}
	c.mu.Lock()
	announced := c.announced
	c.mu.Unlock()
	end := Check{Name: announcement, Component: "readiness", Ready: announced}
	switch {
	case len(checks) == 0:
		end.Ready, end.Reason = false, "no readiness probe is known"
	case !announced:
		end.Reason = "the start has not reached its end, or the stop has begun"
	}
	checks = append(checks, end)
	r := Report{Ready: true}
	for _, check := range checks {
		r.Checks = append(r.Checks, c.note(check))
		r.Ready = r.Ready && check.Ready
	}
	slices.SortFunc(r.Checks, func(a, b Check) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// note completes a check with the time since when it holds, and logs it if it is new.
func (c *Checker) note(check Check) Check {
	was, known := c.last[check.Name]
	same := known && was.Ready == check.Ready && was.Degraded == check.Degraded
	switch {
	case same:
		check.Since = was.Since
	case check.Since.IsZero():
		check.Since = c.now()
	}
	c.last[check.Name] = check
	switch {
	case same:
	case check.Degraded:
		c.log.Warn("probe degraded", zap.String("probe", check.Name), zap.String("of", check.Component), zap.String("reason", check.Reason))
	case check.Ready:
		c.log.Info("probe ready", zap.String("probe", check.Name), zap.String("of", check.Component))
	default:
		c.log.Info("probe not ready", zap.String("probe", check.Name), zap.String("of", check.Component), zap.String("reason", check.Reason))
	}
	return check
}

func ofStep(s lifecycle.StepStatus) Check {
	check := Check{Name: s.Probe, Component: s.Component, Ready: s.State == lifecycle.Started, Since: s.Since}
	if check.Ready {
		return check
	}
	check.Reason = fmt.Sprintf("step %s is %s", s.Name, s.State)
	if s.State == lifecycle.Pending {
		check.Reason += fmt.Sprintf(" (phase %s)", s.Phase)
	}
	if s.Waits != "" {
		check.Reason += ", waiting for " + s.Waits
	}
	if s.Error != "" {
		check.Reason += ": " + s.Error
	}
	return check
}

func ofProbe(p Probe) (check Check) {
	check = Check{Name: p.Name, Component: p.Component}
	defer func() {
		if e := recover(); e != nil {
			check.Reason = fmt.Sprintf("the probe panicked: %v", e)
		}
	}()
	err := p.Check()
	check.Ready = err == nil || p.Degrades
	if err != nil {
		check.Reason, check.Degraded = err.Error(), p.Degrades
	}
	return check
}
