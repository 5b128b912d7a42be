package logging

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// ComponentLevel is one line of the page of levels.
type ComponentLevel struct {
	Component string `json:"component"`
	Level     string `json:"level"`
	// Own says that the component has this level of its own, and would keep it if the default were changed.
	Own bool `json:"own"`
}

// List gives the level of everything that logs: the default, the components by name, and the parts of components that
// have a level of their own.
func (c *Control) List() []ComponentLevel {
	levels := c.Levels()
	out := []ComponentLevel{{Default, levelName(levels.fallback), true}}
	names := append(slices.Clone(c.components), levels.Named()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		_, own := levels.named[name]
		out = append(out, ComponentLevel{name, levelName(levels.Of(name)), own})
	}
	return out
}

// Page serves the levels: GET lists them as JSON; PUT with ?level=xds=debug,default=info sets some; DELETE goes back to
// those of the start. Both answer with the list. Changes are logged.
func (c *Control) Page(log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodPut:
			spec := r.URL.Query().Get("level")
			if strings.Trim(spec, ", ") == "" {
				http.Error(w, "nothing to set: want ?level=COMPONENT=LEVEL,…, for example ?level=xds=debug", http.StatusBadRequest)
				return
			}
			if err := c.Set(spec); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			log.Warn("log levels are changed", zap.String("levels", spec))
		case http.MethodDelete:
			c.Reset()
			log.Warn("log levels are those of the start again")
		default:
			refuseMethod(w, "GET, PUT, DELETE")
			return
		}
		writeJSON(w, c.List())
	})
}

// scope is a component as `istioctl admin log` reads and writes it.
type scope struct {
	Name            string `json:"name"`
	Description     string `json:"description,omitempty"`
	OutputLevel     string `json:"output_level,omitempty"`
	StackTraceLevel string `json:"stack_trace_level,omitempty"`
}

// Scopes serves the levels below a path as `istioctl admin log` expects them of istiod's ControlZ, at /scopej: GET lists
// the components, GET and PUT of one reads and sets it. Levels of stack traces are shown as none and cannot be set.
func (c *Control) Scopes(path string, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, path), "/")
		scopes := c.scopes()
		i := slices.IndexFunc(scopes, func(s scope) bool { return s.Name == name })
		switch {
		case name != "" && i < 0:
			http.Error(w, fmt.Sprintf("there is no component %q: want one of %s, or %s", name, strings.Join(c.components, ", "), Default), http.StatusBadRequest)
		case r.Method == http.MethodGet && name == "":
			writeJSON(w, scopes)
		case r.Method == http.MethodGet:
			writeJSON(w, scopes[i])
		case r.Method == http.MethodPut && name != "":
			var want scope
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&want); err != nil {
				http.Error(w, fmt.Sprintf("the body is no scope: %v", err), http.StatusBadRequest)
				return
			}
			if want.StackTraceLevel != "" && want.StackTraceLevel != "none" {
				http.Error(w, "stack traces have no level: only a panic is logged with its stack", http.StatusBadRequest)
				return
			}
			if want.OutputLevel != "" {
				if err := c.Set(name + "=" + want.OutputLevel); err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				log.Warn("log levels are changed", zap.String("levels", name+"="+want.OutputLevel))
			}
			w.WriteHeader(http.StatusAccepted)
		default:
			refuseMethod(w, "GET, PUT")
		}
	})
}

func (c *Control) scopes() []scope {
	var out []scope
	for _, l := range c.List() {
		out = append(out, scope{Name: l.Component, OutputLevel: l.Level, StackTraceLevel: "none"})
	}
	return out
}

func refuseMethod(w http.ResponseWriter, allowed string) {
	w.Header().Set("Allow", allowed)
	http.Error(w, "want one of "+allowed, http.StatusMethodNotAllowed)
}

func writeJSON(w http.ResponseWriter, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the client is gone: nobody to tell
}
