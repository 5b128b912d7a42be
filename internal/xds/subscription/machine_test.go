package subscription

import "testing"

func TestMachine(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"the first request is answered, an acknowledgement is not", `
			= cds a=1 b=1
			> cds
			< cds a=1 b=1
			:Subscribed
			> cds
			:Acknowledged
			> cds`},
		{"the first request is answered though there is nothing", `
			> cds
			< cds
			> cds
			> eds a
			< eds
			> eds a
			= eds a=1
			< eds a=1`},
		{"what is not known is not answered as nothing", `
			? cds
			> cds
			= cds a=1
			< cds a=1
			> cds
			? cds
			= cds a=1`},
		{"one unacknowledged response, and only the newest waits", `
			= cds a=1
			> cds
			< cds a=1
			= cds a=2
			= cds a=3
			> cds
			< cds a=3
			> cds`},
		{"back to what the client has: nothing is sent", `
			= cds a=1
			> cds
			< cds a=1
			= cds a=2
			= cds a=1
			> cds`},
		{"refused: not again until it changes (B10)", `
			= lds a=1
			> lds
			< lds a=1
			> lds !bad
			:Refused
			> lds !bad
			:Stale
			= lds a=1
			> lds @none
			= lds a=2
			< lds a=2
			> lds
			= lds a=3
			< lds a=3
			> lds !bad
			= lds a=2
			< lds a=2`},
		{"refused endpoints: other ones go on; the rest follows once what was wrong is accepted", `
			= eds a=1 b=1 c=1
			> eds a b c
			< eds a=1 b=1 c=1
			> eds a b c !bad
			= eds a=1 b=1 c=2
			< eds c=2
			> eds a b c
			< eds a=1 b=1
			> eds a b c !bad
			= eds a=2 b=1 c=2
			< eds a=2
			> eds a b c
			< eds b=1
			> eds a b c`},
		{"refused together with a new name: only the new one", `
			= eds a=1 b=1
			> eds a
			< eds a=1
			> eds a b !bad
			< eds b=1`},
		{"a stale nonce acknowledges nothing", `
			= cds a=1
			> cds
			< cds a=1
			> cds
			= cds a=2
			< cds a=2
			> cds @old
			:Stale
			> cds @junk !bad
			:Stale
			= cds a=3
			> cds
			< cds a=3`},
		{"a new name beside a stale nonce counts (B4)", `
			= eds a=1 b=1
			> eds a
			< eds a=1
			> eds a
			= eds a=2 b=1
			< eds a=2
			> eds a b @old
			> eds a b
			< eds b=1`},
		{"a request without nonce changes names and acknowledges nothing (B4)", `
			= eds a=1 b=1
			> eds a
			< eds a=1
			> eds a b @none
			:Changed
			> eds a b
			:Acknowledged
			< eds b=1`},
		{"names come and go: only what is new is sent (B13), and again what was dropped (B7)", `
			= eds a=1 b=1 c=1
			> eds a b
			< eds a=1 b=1
			> eds a b
			> eds a
			> eds a b
			< eds b=1
			> eds a b
			> eds a b c
			< eds c=1
			> eds a b c
			> eds
			> eds
			= eds a=2
			> eds b a
			< eds a=2`},
		{"names of a type with full state: all of them", `
			= lds a=1 b=1 c=1
			> lds a
			< lds a=1
			> lds a b
			< lds a=1 b=1
			> lds a b
			= lds a=1 b=2 c=2
			< lds a=1 b=2
			> lds a b
			= lds a=1
			< lds a=1
			> lds a b`},
		{"no names later mean no names (grpc-go's last request)", `
			= lds a=1
			> lds a
			< lds a=1
			> lds a
			> lds
			= lds a=2
			> lds`},
		{"a star is a wildcard, and may be taken back", `
			= cds a=1 b=1
			> cds *
			< cds a=1 b=1
			> cds *
			> cds a
			= cds a=1 b=2
			= cds a=2 b=2
			< cds a=2
			> cds a
			> cds a *
			< cds a=2 b=2`},
		{"a deleted resource", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds a b
			< eds a=1 b=1
			> eds a b
			= cds a=1
			< cds a=1
			> cds
			= eds a=1
			= eds a=1 b=1
			< eds b=1`},
		// Case B1.
		{"the same names again after the parent was sent: everything", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds a b
			< eds a=1 b=1
			> eds a b
			> eds a b
			= cds a=1 b=2
			< cds a=1 b=2
			< eds b=1
			> cds
			> eds a b
			:Acknowledged
			> eds a b
			:Changed
			< eds a=1 b=1
			> eds a b
			> eds a b`},
		{"the same while endpoints of one cluster were sent: B1, separately", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds a b
			< eds a=1 b=1
			> eds a b
			= eds a=2 b=1
			< eds a=2
			= cds a=2 b=2
			< cds a=2 b=2
			> cds
			> eds a b @old
			> eds a b
			< eds a=2 b=1
			> eds a b
			> eds a b
			< eds a=2 b=1`},
		{"routes after listeners", `
			= lds l=1
			= rds r=1 q=1
			> lds
			< lds l=1
			> lds
			> rds r q
			< rds q=1 r=1
			> rds r q
			= lds l=2
			< lds l=2
			> lds
			> rds q r
			< rds q=1 r=1
			> rds q r
			> rds q r`},
		{"dropping names after the parent was sent asks for nothing (B13)", `
			= lds l=1 m=1
			= rds r=1 q=1
			> lds
			< lds l=1 m=1
			> lds
			> rds r q
			< rds q=1 r=1
			> rds r q
			= lds l=1
			< lds l=1
			> lds
			> rds r
			> rds r
			< rds r=1`},
		// Case B2, and B6 for the deferred one.
		{"endpoints follow a changed cluster, also a deferred one", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> eds a b
			< eds a=1 b=1
			= cds a=2 b=1
			> cds
			< cds a=2 b=1
			> eds a b
			< eds a=1
			> cds
			> eds a b`},
		// Case B9.
		{"endpoints before clusters", `
			= cds s=1 t=1
			= eds c=1 s=1 t=1
			> eds t
			< eds t=1
			> eds t
			> cds
			< cds s=1 t=1
			> cds
			> eds c s t
			< eds c=1 s=1 t=1`},
		{"clusters stay while listeners without them are refused", `
			= cds a=1 b=1
			= lds l=1
			> cds
			< cds a=1 b=1
			> cds
			> lds
			< lds l=1
			> lds
			& cds a=1
			= lds l=2
			< lds l=2
			> lds !no
			= lds l=3
			< lds l=3
			> lds
			< cds a=1`},
		{"a new cluster asks for its own endpoints only", `
			= cds a=1
			= eds a=1 b=1
			> cds
			< cds a=1
			> cds
			> eds a
			< eds a=1
			> eds a
			= cds a=1 b=1
			< cds a=1 b=1
			> cds
			> eds a b
			< eds b=1`},
		{"listeners and routes wait for clusters, endpoints do not", `
			= cds a=1
			= eds a=1
			= lds l=1
			= rds r=1
			> cds
			< cds a=1
			> eds a
			< eds a=1
			> eds a
			> lds
			< lds l=1
			> lds
			> rds r
			< rds r=1
			> rds r
			= cds a=1 b=1
			= rds r=2
			= lds l=2
			= eds a=2
			< eds a=2
			> eds a
			> cds
			< cds a=1 b=1
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
			> rds r
			< rds r=1
			> rds r
			& cds v2=1
			= rds r=2
			< cds v1=1 v2=1
			< rds r=2
			> cds
			> rds r
			< cds v2=1
			> cds
			& cds
			& lds l=2
			= rds r=3
			< lds l=2
			< rds r=3
			> rds r
			> lds
			< cds
			> cds
			= cds v3=1
			< cds v3=1`},
		{"a cluster that comes back before it went", `
			= cds v1=1
			= rds r=1
			> cds
			< cds v1=1
			> cds
			> rds r
			< rds r=1
			> rds r
			& cds
			= rds r=2
			< rds r=2
			= cds v1=1
			> rds r`},
		{"a refused parent does not hold the others", `
			= cds a=1
			= rds r=1
			> cds
			< cds a=1
			> rds r
			< rds r=1
			> rds r
			> cds !bad
			= rds r=2
			< rds r=2`},
		{"types the protocol says nothing of", `
			= other x=1
			> other x
			< other x=1
			> other x
			= other x=2
			< other x=2`},
	} {
		t.Run(tc.name, func(t *testing.T) { newConversation(t).run(tc.script) })
	}
}
