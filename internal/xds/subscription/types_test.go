package subscription

import "testing"

// What is different with secrets, extensions, and what agents ask for themselves.
func TestTypes(t *testing.T) {
	for _, tc := range []struct{ name, sotw, delta string }{
		{"secrets and extensions that do not exist: an answer that says so by having none, and never a removal", `
			> sds a
			< sds
			> sds a
			> ecds a
			< ecds
			> ecds a
			> ecds a b
			< ecds
			> ecds a b
			= ecds a=1
			< ecds a=1
			> ecds a b
			= ecds
			= ecds a=1
			< ecds a=1
			> ecds a b
			= ecds a=2
			< ecds a=2`, `
			> sds +a
			< sds
			> sds
			> ecds +a
			< ecds
			> ecds
			> ecds +b
			< ecds
			> ecds
			= ecds a=1
			< ecds a=1
			> ecds
			= ecds
			= ecds a=1
			< ecds a=1
			> ecds
			> ecds +a
			< ecds a=1
			> ecds
			= ecds a=2
			< ecds a=2`},
		{"a secret that is not there goes out with no other", `
			= sds a=1 b=1
			> sds a b c
			< sds a=1 b=1
			> sds a b c
			= sds a=1 b=2
			< sds b=2`, `
			= sds a=1 b=1
			> sds +a +b +c
			< sds a=1 b=1
			> sds
			= sds a=1 b=2
			< sds b=2`},
		{"a client that warms a listener anew may ask for its secrets and extensions again", `
			= lds l=1
			> lds
			< lds l=1
			> lds
			= sds s=1
			> sds s
			< sds s=1
			> sds s
			= ecds e=1
			> ecds e
			< ecds e=1
			> ecds e
			= lds l=2
			< lds l=2
			> sds s
			< sds s=1
			> sds s
			> ecds e
			< ecds e=1
			> ecds e
			> ecds e`, `
			= lds l=1
			> lds
			< lds l=1
			> lds
			= sds s=1
			> sds +s
			< sds s=1
			> sds
			= lds l=2
			< lds l=2
			> sds +s
			< sds s=1`},
		{"a client that warms a cluster anew may ask for its secrets again", `
			= cds c=1
			> cds
			< cds c=1
			> cds
			= sds s=1
			> sds s
			< sds s=1
			> sds s
			= cds c=2
			< cds c=2
			> sds s
			< sds s=1`, `
			= cds c=1
			> cds
			< cds c=1
			> cds
			= sds s=1
			> sds +s
			< sds s=1
			> sds
			= cds c=2
			< cds c=2
			> sds +s
			< sds s=1`},
		{"an extension may refer to a cluster: it is not pushed past one, and keeps the one it had", `
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
		{"an agent does not answer a response without resources, and is told all the same when there is one", `
			> pcds
			< pcds
			= pcds roots=1
			< pcds roots=1
			> pcds
			= pcds
			< pcds
			= pcds roots=1
			< pcds roots=1
			> pcds
			= nds names=1
			> nds
			< nds names=1
			= nds names=2
			> nds
			< nds names=2`, `
			> pcds
			< pcds
			= pcds roots=1
			< pcds roots=1
			> pcds
			= pcds
			< pcds
			= pcds roots=1
			< pcds roots=1
			> pcds
			= nds names=1
			> nds
			< nds names=1
			= nds names=2
			> nds
			< nds names=2`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Run("sotw", func(t *testing.T) { newConversation(t).run(tc.sotw) })
			t.Run("delta", func(t *testing.T) { converse(t, Delta).run(tc.delta) })
		})
	}
}
