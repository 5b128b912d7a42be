package subscription

import (
	"strings"
	"testing"
)

// What is different with secrets, extensions, and what agents ask for themselves. A conversation is had for each of some
// types, which * stands for.
func TestTypes(t *testing.T) {
	for _, tc := range []struct{ name, types, sotw, delta string }{
		{"what does not exist: an answer that says so by having none, and never a removal", "sds ecds", `
			> * a
			< *
			> * a
			> * a b
			< *
			> * a b
			= * a=1
			< * a=1
			> * a b
			= *
			= * a=1
			< * a=1
			> * a b
			= * a=2
			< * a=2`, `
			> * +a
			< *
			> *
			> * +b
			< *
			> *
			= * a=1
			< * a=1
			> *
			= *
			= * a=1
			< * a=1
			> *
			> * +a
			< * a=1
			> *
			= * a=2
			< * a=2`},
		{"what is not there goes out with no other", "sds ecds", `
			= * a=1 b=1
			> * a b c
			< * a=1 b=1
			> * a b c
			= * a=1 b=2
			< * b=2`, `
			= * a=1 b=1
			> * +a +b +c
			< * a=1 b=1
			> *
			= * a=1 b=2
			< * b=2`},
		{"a client that warms a listener anew may ask again for what it names", "sds ecds rds", `
			= lds l=1
			> lds
			< lds l=1
			> lds
			= * s=1
			> * s
			< * s=1
			> * s
			= lds l=2
			< lds l=2
			> * s
			< * s=1
			> * s
			> * s`, `
			= lds l=1
			> lds
			< lds l=1
			> lds
			= * s=1
			> * +s
			< * s=1
			> *
			= lds l=2
			< lds l=2
			> * +s
			< * s=1`},
		{"a client that warms a cluster anew may ask for its secrets again", "sds", `
			= cds c=1
			> cds
			< cds c=1
			> cds
			= * s=1
			> * s
			< * s=1
			> * s
			= cds c=2
			< cds c=2
			> * s
			< * s=1`, `
			= cds c=1
			> cds
			< cds c=1
			> cds
			= * s=1
			> * +s
			< * s=1
			> *
			= cds c=2
			< cds c=2
			> * +s
			< * s=1`},
		{"an extension may refer to a cluster: it is not pushed past one, and keeps the one it had", "ecds", `
			= cds c=1 d=1
			> cds
			< cds c=1 d=1
			> cds
			= ecds e=1
			> ecds e
			< ecds e=1
			= cds c=1
			> ecds e
			< cds c=1
			> cds`, `
			= cds c=1 d=1
			> cds
			< cds c=1 d=1
			> cds
			= ecds e=1
			> ecds +e
			< ecds e=1
			= cds c=1
			> ecds
			< cds -d
			> cds`},
		{"an agent does not answer a response without resources, and is told all the same when there is one", "nds pcds", `
			> *
			< *
			= * only=1
			< * only=1
			> *
			= *
			< *
			= * only=1
			< * only=1
			= * only=2
			> *
			< * only=2`, `
			> *
			< *
			= * only=1
			< * only=1
			> *
			= *
			< *
			= * only=1
			< * only=1
			= * only=2
			> *
			< * only=2`},
		{"what came with a wildcard and is wanted by name when that is taken back changes as any", "nds pcds", `
			= * only=1
			> *
			< * only=1
			> *
			> * only
			= * only=2
			< * only=2`, `
			= * only=1
			> *
			< * only=1
			> *
			> * +only
			< * only=1
			> * -*
			= * only=2
			< * only=2`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for typ := range strings.FieldsSeq(tc.types) {
				of := strings.NewReplacer(" *", " "+typ) // a wildcard is -* or +*
				t.Run(typ+"/sotw", func(t *testing.T) { newConversation(t).run(of.Replace(tc.sotw)) })
				t.Run(typ+"/delta", func(t *testing.T) { converse(t, Delta).run(of.Replace(tc.delta)) })
			}
		})
	}
}
