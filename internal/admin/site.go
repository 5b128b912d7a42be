package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
)

// root is where all pages are.
const root = "/debug/"

// Site is all pages that components contribute, their index at /debug/ and a list of their names at /debug/list. As a
// handler it asks nobody who they are: that is for who lets requests in.
type Site struct {
	mux   *http.ServeMux
	pages []Page // sorted by path
}

// NewSite takes all pages there are. It is an error if two have one path, or one is elsewhere than below /debug/.
func NewSite(pages []Page) (*Site, error) {
	s := &Site{mux: http.NewServeMux(), pages: slices.Clone(pages)} // fx shuffles groups
	list := Page{Path: root + "list", Help: "the names of all pages", Handler: JSON(func() (any, error) { return s.names(), nil })}
	s.pages = append(s.pages, list)
	slices.SortFunc(s.pages, func(a, b Page) int { return cmp.Compare(a.Path, b.Path) })
	for i, p := range s.pages {
		switch {
		case i > 0 && p.Path == s.pages[i-1].Path:
			return nil, fmt.Errorf("two debug pages have the path %s", p.Path)
		case !strings.HasPrefix(p.Path, root) || p.Path == root:
			return nil, fmt.Errorf("the debug page %q is not below %s", p.Path, root)
		}
		s.mux.Handle(p.Path, p.Handler)
	}
	s.mux.HandleFunc(root+"{$}", s.index)
	s.mux.HandleFunc(strings.TrimSuffix(root, "/"), s.index)
	return s, nil
}

// ServeHTTP shows a page.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// names are the paths below /debug/, as istioctl lists them.
func (s *Site) names() []string {
	var out []string
	for _, p := range s.pages {
		out = append(out, strings.TrimPrefix(p.Path, root))
	}
	return out
}

// index lists the pages: as HTML for who accepts it, which is browsers, as JSON for who asks for it, and else as text.
func (s *Site) index(w http.ResponseWriter, r *http.Request) {
	accept := r.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "text/html"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintln(w, "<!doctype html><title>meshd</title><h1>meshd</h1><dl>")
		for _, p := range s.pages {
			fmt.Fprintf(w, "<dt><a href=%q>%s</a><dd>%s\n", p.Path, html.EscapeString(p.Path), html.EscapeString(p.Help))
		}
		fmt.Fprintln(w, "</dl>")
	case strings.Contains(accept, "application/json") || r.URL.Query().Get("format") == "json":
		type entry struct {
			Path string `json:"path"`
			Help string `json:"help"`
		}
		entries := make([]entry, len(s.pages))
		for i, p := range s.pages {
			entries[i] = entry{p.Path, p.Help}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(entries) // the client is gone: nobody to tell
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		width := 0
		for _, p := range s.pages {
			width = max(width, len(p.Path))
		}
		for _, p := range s.pages {
			fmt.Fprintf(w, "%-*s  %s\n", width, p.Path, p.Help)
		}
	}
}
