package listener

import (
	"cmp"
	"maps"
	"slices"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
)

// tags are what spans say of the workload that made them.
type tags struct{ service, revision, cluster, mesh, namespace string }

// tagsOf reads a proxy's metadata; what is missing is said to be so.
func tagsOf(p *model.Proxy) tags {
	return tags{
		service:   cmp.Or(p.Metadata.Labels["service.istio.io/canonical-name"], "unknown"),
		revision:  cmp.Or(p.Metadata.Labels["service.istio.io/canonical-revision"], "latest"),
		cluster:   cmp.Or(p.Metadata.ClusterID, "unknown"),
		mesh:      cmp.Or(p.Metadata.MeshID, "unknown"),
		namespace: cmp.Or(p.Metadata.Namespace, "default"),
	}
}

// dryRun are the tags with the outcome of authorization policies that are only tried: tag and metadata key.
var dryRun = [][2]string{
	{"istio.authorization.dry_run.allow_policy.name", "istio_dry_run_allow_shadow_effective_policy_id"},
	{"istio.authorization.dry_run.allow_policy.result", "istio_dry_run_allow_shadow_engine_result"},
	{"istio.authorization.dry_run.deny_policy.name", "istio_dry_run_deny_shadow_effective_policy_id"},
	{"istio.authorization.dry_run.deny_policy.result", "istio_dry_run_deny_shadow_engine_result"},
}

// defaultSampling is the share of requests that are traced unless configured, in per cent: Istio's PILOT_TRACE_SAMPLING.
const defaultSampling = 1

// tracing is nil if the mesh does not trace.
func (b *builder) tracing() *hcmv3.HttpConnectionManager_Tracing {
	if !b.mesh.Config.GetEnableTracing() {
		return nil
	}
	config := b.mesh.Config.GetDefaultConfig().GetTracing()
	sampling := cmp.Or(config.GetSampling(), defaultSampling)
	if sampling > 100 {
		sampling = defaultSampling
	}
	out := &hcmv3.HttpConnectionManager_Tracing{
		ClientSampling:  &typev3.Percent{Value: 100},
		OverallSampling: &typev3.Percent{Value: 100},
		RandomSampling:  &typev3.Percent{Value: sampling},
		CustomTags:      customTags(config),
	}
	if n := config.GetMaxPathTagLength(); n != 0 {
		out.MaxPathTagLength = wrapperspb.UInt32(n)
	}
	if on := config.GetEnableIstioTags(); on == nil || on.GetValue() {
		out.CustomTags = append(out.CustomTags, b.tags.list()...)
	}
	slices.SortStableFunc(out.CustomTags, func(a, b *tracingv3.CustomTag) int { return cmp.Compare(a.Tag, b.Tag) })
	return out
}

func (t tags) list() []*tracingv3.CustomTag {
	out := []*tracingv3.CustomTag{
		literal("istio.canonical_service", t.service),
		literal("istio.canonical_revision", t.revision),
		literal("istio.cluster_id", t.cluster),
		literal("istio.mesh_id", t.mesh),
		literal("istio.namespace", t.namespace),
	}
	for _, d := range dryRun {
		out = append(out, &tracingv3.CustomTag{Tag: d[0], Type: &tracingv3.CustomTag_Metadata_{
			Metadata: &tracingv3.CustomTag_Metadata{
				Kind: &metadatav3.MetadataKind{Kind: &metadatav3.MetadataKind_Request_{Request: &metadatav3.MetadataKind_Request{}}},
				MetadataKey: &metadatav3.MetadataKey{
					Key: "envoy.filters.http.rbac",
					Path: []*metadatav3.MetadataKey_PathSegment{
						{Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: d[1]}},
					},
				},
			},
		}})
	}
	return out
}

// customTags are those of the mesh config.
func customTags(config *meshv1alpha1.Tracing) []*tracingv3.CustomTag {
	var out []*tracingv3.CustomTag
	for _, name := range slices.Sorted(maps.Keys(config.GetCustomTags())) {
		tag := config.GetCustomTags()[name]
		switch {
		case tag.GetLiteral() != nil:
			out = append(out, literal(name, tag.GetLiteral().GetValue()))
		case tag.GetEnvironment() != nil:
			out = append(out, &tracingv3.CustomTag{Tag: name, Type: &tracingv3.CustomTag_Environment_{
				Environment: &tracingv3.CustomTag_Environment{
					Name: tag.GetEnvironment().GetName(), DefaultValue: tag.GetEnvironment().GetDefaultValue(),
				},
			}})
		case tag.GetHeader() != nil:
			out = append(out, &tracingv3.CustomTag{Tag: name, Type: &tracingv3.CustomTag_RequestHeader{
				RequestHeader: &tracingv3.CustomTag_Header{
					Name: tag.GetHeader().GetName(), DefaultValue: tag.GetHeader().GetDefaultValue(),
				},
			}})
		}
	}
	return out
}

func literal(name, value string) *tracingv3.CustomTag {
	return &tracingv3.CustomTag{Tag: name, Type: &tracingv3.CustomTag_Literal_{Literal: &tracingv3.CustomTag_Literal{Value: value}}}
}
