package house_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/house"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		path, pattern string
		want          bool
	}{
		{house.Module + "/internal/xds", "internal/xds", true},
		{house.Module + "/internal/xds_test", "internal/xds", true},
		{house.Module + "/internal/xds/debug", "internal/xds", false},
		{house.Module + "/internal/xds/debug", "internal/xds/...", true},
		{house.Module + "/internal/xdsproxy", "internal/xds/...", false},
		{"time", "time", true},
		{"google.golang.org/grpc/codes", "google.golang.org/grpc/...", true},
		{"example.com/internal/xds", "internal/xds/...", false},
	} {
		if got := house.Match(c.path, c.pattern); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.path, c.pattern, got, c.want)
		}
	}
}
