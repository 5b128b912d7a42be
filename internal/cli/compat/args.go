package compat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// RewriteArgs turns istiod's flags among the arguments of `meshd discovery` into meshd's own, drops those that ask for
// what meshd does anyway, and leaves everything that istiod does not know as it is, for the flag parser to judge.
// The error names every flag that is refused, each with what to use instead.
func RewriteArgs(args []string) ([]string, error) {
	known := byName(Flag)
	out := make([]string, 0, len(args))
	var errs []error
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			out = append(out, args[i:]...)
			break
		}
		name, value, inline := strings.Cut(args[i], "=")
		s, ok := known[name]
		if !ok {
			out = append(out, args[i])
			continue
		}
		switch {
		case inline:
		case s.Switch:
			value = "true"
		case i+1 == len(args):
			errs = append(errs, fmt.Errorf("%s needs a value", name))
			continue
		default:
			i++
			value = args[i]
		}
		rewritten, err := s.rewrite(value)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, rewritten...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// rewrite gives the arguments of meshd that a flag of istiod comes to: one, or none.
func (s Setting) rewrite(value string) ([]string, error) {
	switch {
	case s.Verdict == Refused && !s.accepts(value):
		return nil, s.refusal()
	case s.Verdict != Honoured:
		return nil, nil
	case !s.Switch:
		return []string{s.As + "=" + value}, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: want true or false", s.Name, value)
	}
	switch {
	case on:
		return []string{s.As}, nil
	case strings.Contains(s.As, "="):
		return nil, nil
	}
	return []string{s.As + "=false"}, nil // it goes before the environment
}

// refusal is the sentence that an operator reads when a setting stops the start.
func (s Setting) refusal() error {
	hint := ""
	if len(s.Accepts) > 0 {
		hint = " (let through: " + strings.Join(quoteEmpty(s.Accepts), ", ") + ")"
	}
	return fmt.Errorf("%s is set: meshd does not read it: %s%s", s.Name, strings.TrimSuffix(s.Note, "."), hint)
}

// quoteEmpty makes the empty value visible.
func quoteEmpty(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		if v == "" {
			v = `""`
		}
		out[i] = v
	}
	return out
}
