package listener

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// Addresses remembers which addresses were bound, by flag, and keeps them in a file if one is named: so that whoever
// started the process with port 0 finds them.
type Addresses struct {
	file string

	mu    sync.Mutex
	bound map[string]string
}

// NewAddresses makes an empty book. The file is written at each Bound; none is written if it is "".
func NewAddresses(file string) *Addresses {
	return &Addresses{file: file, bound: map[string]string{}}
}

// Bound notes an address under its flag.
func (a *Addresses) Bound(flag string, addr net.Addr) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bound[flag] = addr.String()
	if a.file == "" {
		return nil
	}
	data, err := json.MarshalIndent(a.bound, "", " ")
	if err != nil {
		return fmt.Errorf("writing --addresses-file %s: %w", a.file, err)
	}
	// Written beside and renamed, so that a reader never sees half of it.
	tmp := filepath.Join(filepath.Dir(a.file), "."+filepath.Base(a.file)+".tmp")
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing --addresses-file %s: %w", a.file, err)
	}
	if err := os.Rename(tmp, a.file); err != nil {
		return fmt.Errorf("writing --addresses-file %s: %w", a.file, err)
	}
	return nil
}

// All gives the addresses by flag.
func (a *Addresses) All() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[string]string, len(a.bound))
	for k, v := range a.bound {
		out[k] = v
	}
	return out
}
