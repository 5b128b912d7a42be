package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// DefaultDomain is the DNS domain of a cluster that does not say otherwise.
const DefaultDomain = "cluster.local"

// ErrNoMesh is what compiling without a usable mesh config gives.
var ErrNoMesh = errors.New("the mesh config is missing or has no trust domain")

// Options of a Compiler.
type Options struct {
	// DNSDomain of the cluster; DefaultDomain if empty.
	DNSDomain string
	// ClusterID of the cluster that the stores describe; registry.DefaultCluster if empty.
	ClusterID string
	// DualStack makes proxies and endpoints of both address families use both.
	DualStack bool
}

// Compiler makes snapshots of stores. It is not safe for concurrent use; snapshots are.
type Compiler struct {
	stores *config.Stores
	mesh   func() *meshv1alpha1.MeshConfig
	opts   Options
	intern *interner

	// known is nil before the first compilation and after one that failed: then nothing is known for certain.
	known *known
	last  *Snapshot
	// compiled counts compilations.
	compiled uint64
}

// NewCompiler makes a compiler of stores. The mesh config is asked for at the first compilation, and when it changed.
func NewCompiler(stores *config.Stores, mesh func() *meshv1alpha1.MeshConfig, opts Options) *Compiler {
	if opts.DNSDomain == "" {
		opts.DNSDomain = DefaultDomain
	}
	opts.DNSDomain = strings.ToLower(opts.DNSDomain)
	if opts.ClusterID == "" {
		opts.ClusterID = registry.DefaultCluster
	}
	return &Compiler{stores: stores, mesh: mesh, opts: opts, intern: newInterner(), last: &Snapshot{}}
}

// Compile makes a snapshot in which the objects that the changes name are as they are now. The first call reads
// everything, whatever the changes; so does the first call after one that failed. Records whose content is what it was
// keep their pointer, always. If no record differs, the result is the snapshot of the call before.
//
// The errors are config.ErrNotSynced, ErrNoMesh, and the cause of a context that ended meanwhile.
func (c *Compiler) Compile(ctx context.Context, token config.Synced, changes map[model.Change]struct{}) (*Snapshot, error) {
	k, base := c.known, c.last
	// Should anything go wrong from here on, what was read is in doubt, and the next call starts afresh.
	c.known = nil
	view, err := c.stores.Read(token)
	if err != nil {
		return nil, fmt.Errorf("compile a snapshot: %w", err)
	}
	if k == nil {
		k, base, changes = newKnown(), &Snapshot{}, everything(view)
	}
	b := &build{known: k, base: base, last: c.last, from: registry.Origin{Cluster: c.opts.ClusterID, DualStack: c.opts.DualStack}, intern: c.intern}
	next, err := b.run(ctx, view, changes, c.mesh, c.opts.DNSDomain)
	if err != nil {
		return nil, fmt.Errorf("compile a snapshot: %w", err)
	}
	c.known = k
	c.compiled++
	if c.compiled > 1 && !b.changed {
		return c.last, nil
	}
	next.version = c.compiled
	c.last = next
	return next, nil
}

// build is one compilation.
type build struct {
	known *known
	// base is the snapshot that the changes apply to, last the one whose records are kept; they differ only when
	// everything is read again.
	base, last *Snapshot
	from       registry.Origin
	intern     *interner
	// changed reports that a record is not the one it was.
	changed bool
}

func (b *build) run(ctx context.Context, view config.View, changes set[model.Change], mesh func() *meshv1alpha1.MeshConfig, domain string) (*Snapshot, error) {
	next := *b.base
	next.inbounds.intern = b.intern
	touched := false
	if changesMesh(changes) {
		m, err := b.meshOf(mesh(), domain)
		if err != nil {
			return nil, err
		}
		touched = b.base.mesh != nil && !sameForServices(b.base.mesh, m)
		next.mesh = m
	}
	d, err := b.known.read(ctx, view, changes, domain)
	if err != nil {
		return nil, err
	}
	if touched {
		for n := range b.known.services {
			d.services[n] = struct{}{}
		}
	}
	if err := b.services(ctx, &next, d, domain); err != nil {
		return nil, err
	}
	b.inbounds(&next.inbounds, d)
	b.places(&next.places, d)
	return &next, nil
}

func changesMesh(changes set[model.Change]) bool {
	for c := range changes {
		if c.Kind == model.KindMeshConfig {
			return true
		}
	}
	return false
}

func (b *build) meshOf(m *meshv1alpha1.MeshConfig, domain string) (*Mesh, error) {
	if m.GetTrustDomain() == "" {
		return nil, ErrNoMesh
	}
	if last := b.last.mesh; last != nil && proto.Equal(last.Config, m) {
		return last, nil
	}
	b.changed = true
	return &Mesh{Config: m, DNSDomain: domain, DualStack: b.from.DualStack}, nil
}
