package admin

import (
	"net/http"
	"net/http/pprof"
)

// ProfilesPath is where profiles are, as Go's tools expect them.
const ProfilesPath = "/debug/pprof/"

// Profiles is the page of Go's profiles, and all pages below it. What is switched off is not there, and says so.
func Profiles(on bool) Page {
	mux := http.NewServeMux()
	mux.HandleFunc(ProfilesPath, pprof.Index) // every profile that has a name, too
	mux.HandleFunc(ProfilesPath+"cmdline", pprof.Cmdline)
	mux.HandleFunc(ProfilesPath+"profile", pprof.Profile)
	mux.HandleFunc(ProfilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc(ProfilesPath+"trace", pprof.Trace)
	page := Page{Path: ProfilesPath, Help: "profiles of the Go runtime, for go tool pprof, if --profile is set", Handler: mux}
	if !on {
		page.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "profiles are off: start meshd with --profile", http.StatusNotFound)
		})
	}
	return page
}
