package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/testkit/process"
)

// A directory that vanishes leaves its last good state served, which everybody is told, and ready.
func TestDirectoryVanishes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mesh")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "service.yaml", service("echo", 7070))
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	meshd.Eventually("degraded", func() error {
		if status, body := meshd.Get("/ready"); status != http.StatusOK || !strings.Contains(body, "[~] directory") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	if _, body := meshd.Get("/debug/source"); !strings.Contains(body, `"Service": 1`) {
		t.Errorf("the service is gone: %s", body)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	meshd.Eventually("well again", func() error {
		if _, body := meshd.Get("/ready"); strings.Contains(body, "[~]") {
			return errors.New(body)
		}
		return nil
	})
}
