package directory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// claim is an object in a file that says what its key is.
type claim struct {
	file string
	object
}

func (c claim) where() string {
	s := fmt.Sprintf("%s, document %d", c.file, c.document)
	if c.item > 0 {
		s += fmt.Sprintf(", item %d", c.item)
	}
	return s
}

// claims are the objects of all files by key. Where several claim one key, the first by path and place wins, and the
// next takes over when it goes: who wins depends on what is there, not on what came first.
type claims struct {
	byKey map[key][]claim
	// touched are the keys whose claims changed since the last apply.
	touched map[key]bool
	// twice are the keys with more than one claim.
	twice map[key]bool
	// won is what the stores hold.
	won map[key]metav1.Object
}

func newClaims() *claims {
	return &claims{byKey: map[key][]claim{}, touched: map[key]bool{}, twice: map[key]bool{}, won: map[key]metav1.Object{}}
}

// replace takes a file's claims back and makes those of its new content; either may be nil.
func (c *claims) replace(file string, old, new *content) {
	if old != nil {
		for _, o := range old.objects {
			left := slices.DeleteFunc(c.byKey[o.key], func(x claim) bool { return x.file == file })
			if len(left) == 0 {
				delete(c.byKey, o.key)
			} else {
				c.byKey[o.key] = left
			}
			c.touched[o.key] = true
		}
	}
	if new != nil {
		for _, o := range new.objects {
			c.byKey[o.key] = append(c.byKey[o.key], claim{file, o})
			c.touched[o.key] = true
		}
	}
}

// apply brings the stores up to date. Only what changed is put, and what goes, goes last: an object that moved from
// one file to another is never missing in between. It counts what made a change. If the context ends, some is left to
// the next call, and the error is the context's.
func (c *claims) apply(ctx context.Context, stores *config.Stores) (puts, deletes int, err error) {
	changed := map[model.Kind][]key{}
	var gone []key
	for k := range c.touched {
		all := c.byKey[k]
		slices.SortStableFunc(all, func(a, b claim) int {
			return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.document, b.document), cmp.Compare(a.item, b.item))
		})
		if len(all) > 1 {
			c.twice[k] = true
		} else {
			delete(c.twice, k)
		}
		switch before, had := c.won[k]; {
		case len(all) == 0 && had:
			gone = append(gone, k)
		case len(all) > 0 && before != all[0].value:
			changed[k.kind] = append(changed[k.kind], k)
		}
	}
	for _, kind := range order {
		keys := changed[kind]
		slices.SortFunc(keys, compareKeys)
		for _, k := range keys {
			if err := ctx.Err(); err != nil {
				return puts, deletes, err
			}
			c.won[k] = c.byKey[k][0].value
			if kinds[kind].put(stores, c.won[k]) {
				puts++
			}
		}
	}
	slices.SortFunc(gone, compareKeys)
	for _, k := range gone {
		if err := ctx.Err(); err != nil {
			return puts, deletes, err
		}
		delete(c.won, k)
		kinds[k.kind].remove(stores, k.NamespacedName)
		deletes++
	}
	clear(c.touched)
	return puts, deletes, nil
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// duplicates lists the objects that lost, each naming the one that won.
func (c *claims) duplicates() []Problem {
	var out []Problem
	for k := range c.twice {
		all := c.byKey[k]
		for _, loser := range all[1:] {
			out = append(out, Problem{
				Kind: Duplicate, File: loser.file, Document: loser.document, Item: loser.item, Line: loser.line, Object: k.String(),
				Error: "it is ignored: the same object is in " + all[0].where(),
			})
		}
	}
	return out
}
