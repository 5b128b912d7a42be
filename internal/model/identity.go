package model

import "fmt"

// Identity is who a client is, as its connection proved it: a service account of a trust domain. It is comparable. The
// zero Identity is nobody, which is what a client is on a connection that proves nothing.
//
// What is given to some and not to others is made for an Identity, never for the name that a client calls itself.
type Identity struct{ trustDomain, namespace, serviceAccount string }

// Prove makes an Identity of what an authenticator has verified; nobody else may call it, which a guard holds. It is an
// error if a part of it is missing.
func Prove(trustDomain, namespace, serviceAccount string) (Identity, error) {
	if trustDomain == "" || namespace == "" || serviceAccount == "" {
		return Identity{}, fmt.Errorf("identity of trust domain %q, namespace %q, service account %q: none of them may be empty",
			trustDomain, namespace, serviceAccount)
	}
	return Identity{trustDomain, namespace, serviceAccount}, nil
}

// Proven reports whether this is somebody.
func (i Identity) Proven() bool { return i != Identity{} }

// TrustDomain that vouches for the service account.
func (i Identity) TrustDomain() string { return i.trustDomain }

// Namespace of the service account.
func (i Identity) Namespace() string { return i.namespace }

// ServiceAccount is its name.
func (i Identity) ServiceAccount() string { return i.serviceAccount }

// String gives the SPIFFE form, or "nobody".
func (i Identity) String() string {
	if !i.Proven() {
		return "nobody"
	}
	return "spiffe://" + i.trustDomain + "/ns/" + i.namespace + "/sa/" + i.serviceAccount
}

// MarshalText writes the same, for debug pages.
func (i Identity) MarshalText() ([]byte, error) { return []byte(i.String()), nil }
