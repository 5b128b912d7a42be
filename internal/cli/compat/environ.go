package compat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// ServiceLink reports whether a variable has the name of one that Kubernetes adds to a container for each service of
// its namespace. A service named "pilot" makes ones that begin with PILOT_, and they are nobody's configuration.
func ServiceLink(name string) bool { return serviceLink.MatchString(name) }

// CheckEnv gives an error for every variable of istiod that is set and refused, sorted by name, and for every one that
// begins with PILOT_ and is known to neither. environ has the form of os.Environ. An empty value counts as not set.
func CheckEnv(environ []string) []error {
	known := byName(Env)
	var errs []error
	for _, v := range variables(environ) {
		s, ok := known[v.name]
		switch {
		case ok && s.Verdict == Refused && !s.accepts(v.value):
			errs = append(errs, s.refusal())
		case !ok && strings.HasPrefix(v.name, "PILOT_") && !ServiceLink(v.name):
			errs = append(errs, fmt.Errorf("%s is set: unknown to meshd and to istiod %s: correct its name or remove it "+
				"(docs/compatibility.md has the list)", v.name, Line))
		}
	}
	return errs
}

// Notes gives a sentence for every variable that is set and accepted without effect, sorted by name, for the log.
func Notes(environ []string) []string {
	known := byName(Env)
	var notes []string
	for _, v := range variables(environ) {
		if s, ok := known[v.name]; ok && s.Verdict == Accepted {
			notes = append(notes, fmt.Sprintf("%s is set and changes nothing: %s", s.Name, strings.TrimSuffix(s.Note, ".")))
		}
	}
	return notes
}

type variable struct{ name, value string }

// variables reads an environment: sorted by name, without empty values; the last of several wins, as in exec.
func variables(environ []string) []variable {
	values := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			values[name] = value
		}
	}
	out := make([]variable, 0, len(values))
	for name, value := range values {
		if value != "" {
			out = append(out, variable{name, value})
		}
	}
	slices.SortFunc(out, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return out
}
