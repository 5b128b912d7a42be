package subscription

import "testing"

// What types that name each other have to do with each other in delta.
func TestDeltaOrder(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"an empty request after the parent was sent: everything", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds +a +b
			< eds a=1 b=1
			> eds
			= cds a=2 b=1
			< cds a=2
			< eds a=1
			> cds
			> eds
			> eds
			:Changed
			< eds a=1 b=1
			> eds
			> eds`},
		{"the names again after the parent was sent: those", `
			= lds l=1
			= rds r=1 q=1
			> lds
			< lds l=1
			> lds
			> rds +r +q
			< rds q=1 r=1
			> rds
			= lds l=2
			< lds l=2
			> lds
			> rds @none +r +q
			< rds q=1 r=1
			> rds
			= lds l=3
			< lds l=3
			> lds
			> rds @none +r
			< rds r=1`},
		// Case B2, and B6 for the deferred one.
		{"endpoints follow a changed cluster, also a deferred one", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> eds +a +b
			< eds a=1 b=1
			= cds a=2 b=1
			> cds
			< cds a=2
			> eds
			< eds a=1
			> cds
			> eds`},
		{"endpoints follow a cluster that has their name and comes later (B9)", `
			= cds s=1 t=1
			= eds c=1 s=1 t=1
			> eds +t
			< eds t=1
			> eds
			> cds
			< cds s=1 t=1
			< eds t=1
			> cds
			> eds +c +s
			< eds c=1 s=1`},
		{"a new cluster asks for its own endpoints only", `
			= cds a=1
			= eds a=1 b=1
			> cds
			< cds a=1
			> cds
			> eds +a
			< eds a=1
			> eds
			= cds a=1 b=1
			< cds b=1
			> cds
			> eds @none +b
			< eds b=1`},
		{"a client that comes back: endpoints of a cluster that is new to it are sent again (B2)", `
			= cds a=2 b=1
			= eds a=1 b=1
			> cds ^a=1 ^b=1
			< cds a=2
			> eds +a +b ^a=1 ^b=1
			< eds a=1
			> cds
			> eds`},
		{"a client that comes back: clusters that are gone go when no route can refer to them (B26)", `
			= cds v2=1
			= lds l=2
			> cds ^v1=1
			< cds v2=1
			> lds ^l=1
			< lds l=2
			> cds
			> lds
			< cds -v1`},
		{"listeners and routes wait for clusters, endpoints do not", `
			= cds a=1
			= eds a=1
			= lds l=1
			= rds r=1
			> cds
			< cds a=1
			> cds
			> eds +a
			< eds a=1
			> eds
			> lds
			< lds l=1
			> lds
			> rds +r
			< rds r=1
			> rds
			= cds a=1 b=1
			< cds b=1
			= cds a=1 b=1 c=1
			= rds r=2
			= lds l=2
			= eds a=2
			< eds a=2
			> eds
			> cds
			< cds c=1
			< lds l=2
			< rds r=2`},
		// Case B26.
		{"a cluster goes when no route refers to it any more", `
			= cds v1=1
			= lds l=1
			= rds r=1
			> cds
			< cds v1=1
			> cds
			> lds
			< lds l=1
			> lds
			> rds +r
			< rds r=1
			> rds
			& cds v2=1
			= rds r=2
			< cds v2=1
			< rds r=2
			> cds
			> rds
			< cds -v1`},
		{"a cluster that is wanted by name too goes no earlier", `
			= cds v1=1
			= lds l=1
			> cds +* +v1
			< cds v1=1
			> cds
			> lds
			< lds l=1
			> lds
			& cds
			= lds l=2
			< lds l=2
			> lds
			< cds -v1`},
		{"a cluster that is wanted by name too, and is gone, goes when the wildcard that kept it is taken back", `
			= cds a=1 b=1
			= lds l=1
			> cds
			< cds a=1 b=1
			> cds +a
			< cds a=1
			> cds
			> lds
			< lds l=1
			= cds b=1
			> cds -*
			< cds -a
			> cds
			= cds b=2
		`},
		{"a cluster that is wanted by name too, and comes back before it went", `
			= cds v1=1
			= lds l=1
			> cds +* +v1
			< cds v1=1
			> cds
			> lds
			< lds l=1
			> lds
			& cds
			= lds l=2
			< lds l=2
			= cds v1=1
			> lds
			= cds
			< cds -v1
			> cds
			= cds v1=1
			< cds v1=1`},
		{"clusters stay until the rest of what was refused is there", `
			= cds a=1 b=1
			= lds k=1 l=1
			> cds
			< cds a=1 b=1
			> cds
			> lds
			< lds k=1 l=1
			> lds
			& cds a=1
			= lds k=2 l=2
			< lds k=2 l=2
			> lds !no
			= lds k=3 l=2
			< lds k=3
			> lds
			< lds l=2
			> lds
			< cds -b`},
		{"clusters stay while listeners without them are refused", `
			= cds a=1 b=1
			= lds k=1 l=1
			> cds
			< cds a=1 b=1
			> cds
			> lds
			< lds k=1 l=1
			> lds
			& cds a=1
			= lds k=1 l=2
			< lds l=2
			> lds !no
			= lds k=2 l=2
			< lds k=2
			> lds
			= lds k=2 l=3
			< lds l=3
			> lds
			< cds -b`},
	} {
		t.Run(tc.name, func(t *testing.T) { converse(t, Delta).run(tc.script) })
	}
}
