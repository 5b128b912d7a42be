package subscription

import "testing"

func TestDelta(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"the first request is answered, an acknowledgement is not", `
			= cds a=1 b=1
			> cds @none
			< cds a=1 b=1
			:Subscribed
			> cds
			:Acknowledged`},
		{"the first request is answered though there is nothing", `
			= cds
			> cds @none
			< cds
			> cds
			> eds @none
			< eds
			> eds`},
		{"what is not known is not answered as nothing", `
			? cds
			> cds ^a=1
			= cds b=1
			< cds b=1
			> cds
			< cds -a`},
		{"only what changed is sent", `
			= cds a=1 b=1 c=1
			> cds
			< cds a=1 b=1 c=1
			> cds
			= cds a=1 b=2 c=1 d=1
			< cds d=1 b=2
			> cds
			= lds l=1 m=1
			> lds
			< lds l=1 m=1
			> lds
			= lds l=1
			< lds -m
			> lds
			= lds l=1`},
		{"one unacknowledged response, and only the newest waits", `
			= cds a=1 b=1
			> cds
			< cds a=1 b=1
			= cds a=2 b=1
			= cds a=3 b=1
			> cds
			< cds a=3
			= cds a=4 b=1
			= cds a=3 b=1
			> cds`},
		// Case B15.
		{"what is gone of clusters and listeners is said once, and of endpoints and routes not at all", `
			= cds a=1 b=1
			= eds a=1 b=1
			= rds r=1
			> cds
			< cds a=1 b=1
			> cds
			> eds +a +b
			< eds a=1 b=1
			> eds
			> rds +r
			< rds r=1
			> rds
			= cds a=1
			< cds -b
			> cds
			= eds a=1
			= rds
			= cds a=1
			= eds a=1 b=1
			< eds b=1
			> eds
			= rds r=1
			< rds r=1`},
		{"a name that does not exist is answered as removed, once", `
			= eds a=1
			> eds +a +x
			< eds a=1 -x
			> eds
			= eds a=2
			< eds a=2
			> eds
			> eds @none +x
			< eds -x
			> eds
			= eds a=2 x=1
			< eds x=1`},
		{"named clusters", `
			= cds a=1 b=1
			> cds +a +x
			< cds a=1 -x
			> cds
			> cds @none +b
			< cds b=1
			> cds
			= cds b=1
			< cds -a
			> cds
			= cds a=1 b=2
			< cds a=1 b=2`},
		// Case B7, and B9.
		{"a name that is asked for again is sent again", `
			= eds a=1 b=1
			> eds +a +b
			< eds a=1 b=1
			> eds
			> eds @none +a
			:Changed
			< eds a=1
			> eds
			> eds @none -b
			> eds @none +b
			< eds b=1
			> eds
			> eds @none -b +b
			< eds b=1
			> eds +a
			:Acknowledged
			< eds a=1`},
		// Case B13.
		{"names that are dropped are not answered, of new ones only they are", `
			= rds a=1 b=1 c=1
			> rds +a +b
			< rds a=1 b=1
			> rds
			> rds @none -a
			> rds @none -x
			= rds a=2 b=1 c=1
			> rds @none +c
			< rds c=1
			> rds -b
			= rds b=2 c=1`},
		// Case B4: its three runs.
		{"a request without nonce changes the subscription and answers nothing", `
			= eds a=1 c=1 d=1
			> eds +a
			< eds a=1
			> eds @none +c
			:Changed
			> eds @last
			:Acknowledged
			< eds c=1
			> eds @old +d
			:Stale
			> eds @last
			:Acknowledged
			< eds d=1
			> eds @junk !bad
			:Stale
			> eds @last`},
		// Case B10.
		{"refused: not again until it changes", `
			= lds a=1
			> lds
			< lds a=1
			> lds !bad
			:Refused
			> lds @none
			= lds a=1
			= lds a=2
			< lds a=2
			> lds`},
		{"refused: other ones go on; the rest follows once what was wrong is accepted", `
			= lds a=1 b=1 c=1
			> lds
			< lds a=1 b=1 c=1
			> lds !bad
			= lds a=1 b=1 c=2
			< lds c=2
			> lds
			< lds a=1 b=1
			> lds !bad
			= lds a=2 b=1 c=2
			< lds a=2
			> lds
			< lds b=1
			> lds`},
		{"refused, and gone before the rest is due", `
			= lds a=1 b=1 c=1
			> lds
			< lds a=1 b=1 c=1
			> lds !bad
			= lds a=2 b=1 c=1
			< lds a=2
			= lds a=2 c=1
			> lds
			< lds c=1 -b`},
		{"refused endpoints", `
			= eds a=1 b=1
			> eds +a +b
			< eds a=1 b=1
			> eds !bad
			= eds a=2 b=1
			< eds a=2
			> eds
			< eds b=1`},
		// Case B1.
		{"a client that comes back: what it has is not sent again", `
			= cds a=1 b=2
			= eds a=1 b=1
			> cds ^a=1 ^b=2
			< cds
			> cds
			> eds +a +b ^a=1 ^b=0
			< eds b=1
			> eds
			= cds a=1 b=3
			< cds b=3
			< eds b=1`},
		{"a client that comes back: what changed, what is new, what another control plane gave it, and what is gone", `
			= lds a=1 b=2 c=1 d=1
			= eds a=1
			> lds ^a=1 ^b=1 ^d=? ^x=1
			< lds c=1 b=2 d=1 -x
			> lds
			> eds +a +x ^a=1 ^x=1
			< eds -x`},
		{"names beside a wildcard", `
			= cds a=1 b=1
			> cds +*
			< cds a=1 b=1
			> cds
			> cds @none +a
			< cds a=1
			> cds
			= cds a=2 b=1
			< cds a=2
			> cds
			> cds @none -a
			< cds a=2
			> cds
			> cds @none +x
			< cds -x
			> cds
			> cds @none -x
			< cds -x
			> cds
			> cds @none +b
			< cds b=1
			> cds
			= cds a=2
			< cds -b`},
		{"a wildcard that is taken back, and asked for again", `
			= cds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> cds @none +a
			< cds a=1
			> cds
			> cds @none -*
			= cds a=1 b=2
			= cds a=2 b=2
			< cds a=2
			> cds
			> cds @none +*
			< cds a=2 b=2
			> cds
			> cds @none +*
			< cds a=2 b=2`},
		{"what is no longer part of everything, and still there by name", `
			= cds a=1 b=1
			> cds +* +a
			< cds a=1 b=1
			> cds
			= cds a=0 b=0
			< cds a=0 -b
			> cds
			= cds a=0 b=1
			< cds b=1`},
	} {
		t.Run(tc.name, func(t *testing.T) { converse(t, Delta).run(tc.script) })
	}
}
