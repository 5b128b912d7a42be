package main

import (
	"path/filepath"
	"testing"
)

// Who edits a guard learns at once that it stands here too. Whether tests notice that it is gone takes minutes.
func TestGuardsAreThere(t *testing.T) {
	for _, r := range all() {
		if _, err := r.apply(filepath.Join("..", "..")); err != nil {
			t.Errorf("%s, %s: %v", r.name, r.without, err)
		}
	}
}
