package manifests

import (
	"fmt"
	"os"
	"path/filepath"
)

func namespace(number, of int) string { return fmt.Sprintf("ns-%d", number%max(of, 1)) }

func write(dir, name, text string) error {
	hidden := filepath.Join(dir, "."+name) // a source does not read it
	if err := os.WriteFile(hidden, []byte(text), 0o600); err != nil {
		return fmt.Errorf("manifest of %s: %w", name, err)
	}
	if err := os.Rename(hidden, file(dir, name)); err != nil {
		return fmt.Errorf("manifest of %s: %w", name, err)
	}
	return nil
}

func remove(dir, name string) error {
	if err := os.Remove(file(dir, name)); err != nil {
		return fmt.Errorf("manifest of %s: %w", name, err)
	}
	return nil
}

func file(dir, name string) string { return filepath.Join(dir, name+".yaml") }
