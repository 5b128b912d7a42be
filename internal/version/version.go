// Package version says which build of meshd this is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Info is what is known of the build.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Get reads what the Go toolchain wrote into the binary.
func Get() Info {
	info := Info{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if build.Main.Version != "" {
		info.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

// String gives the build in one line.
func (i Info) String() string {
	s := fmt.Sprintf("meshd %s (%s, %s)", i.Version, i.Go, i.Platform)
	if i.Revision != "" {
		s += " revision " + i.Revision
		if i.Modified {
			s += ", modified"
		}
	}
	return s
}
