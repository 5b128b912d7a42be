package guardtest

import (
	"go/types"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Packages loads the types of packages, for tests that check the names in a table. Those that are not among the
// requirements of the module are left out: a table may be ahead of them.
func Packages(t *testing.T, paths ...string) map[string]*types.Package {
	t.Helper()
	slices.Sort(paths)
	paths = slices.Compact(paths)
	pkgs := load(t, paths...)
	if len(pkgs) == 0 {
		// One of a module that others of the requirements know, but this one does not name, spoils all: one at a time.
		for _, path := range paths {
			if one := load(t, path); len(one) > 0 {
				pkgs = append(pkgs, one...)
			} else {
				t.Logf("%s is not required by this module: its names were not checked", path)
			}
		}
	}
	found := map[string]*types.Package{}
	for _, pkg := range pkgs {
		if len(pkg.Errors) == 0 {
			found[pkg.PkgPath] = pkg.Types
		} else if out, err := exec.Command("go", "list", pkg.PkgPath).CombinedOutput(); err == nil {
			t.Errorf("%s: %v\n%s", pkg.PkgPath, pkg.Errors, out)
		} else {
			t.Logf("%s is not required by this module: its names were not checked", pkg.PkgPath)
		}
	}
	return found
}

func load(t *testing.T, paths ...string) []*packages.Package {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadTypes}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// Names lists the package-level names of a package, and its methods as "Type.Method".
func Names(pkg *types.Package) []string {
	var names []string
	for _, name := range pkg.Scope().Names() {
		names = append(names, name)
		if typ, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
			if named, ok := typ.Type().(*types.Named); ok {
				for m := range named.Methods() {
					names = append(names, name+"."+m.Name())
				}
			}
		}
	}
	return names
}

// Exist fails the test for each full name, such as "(*net/http.Server).Serve", of which there is no object, as far as
// its package is among the requirements of the module. At least one of the packages must be.
func Exist(t *testing.T, full ...string) {
	t.Helper()
	var paths []string
	for _, f := range full {
		path, _ := split(f)
		paths = append(paths, path)
	}
	pkgs := Packages(t, paths...)
	if len(pkgs) == 0 {
		t.Errorf("none of the packages of %v was loaded", full)
	}
	for _, f := range full {
		path, name := split(f)
		if pkg := pkgs[path]; pkg != nil && !slices.Contains(Names(pkg), name) {
			t.Errorf("there is no %s", f)
		}
	}
}

// split takes "(*net/http.Server).Serve" apart: "net/http" and "Server.Serve".
func split(full string) (path, name string) {
	full = strings.NewReplacer("(*", "", ")", "").Replace(full)
	slash := strings.LastIndexByte(full, '/') + 1
	dot := slash + strings.IndexByte(full[slash:], '.')
	return full[:dot], full[dot+1:]
}
