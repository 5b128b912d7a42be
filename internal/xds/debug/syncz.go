package debug

import (
	"net/http"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/resource"
)

// syncStatus is an element of /debug/syncz. Sent and accepted are versions: they are equal if the proxy has what it was
// sent.
type syncStatus struct {
	ClusterID     string                 `json:"cluster_id,omitempty"`
	Proxy         string                 `json:"proxy,omitempty"`
	ProxyType     model.ProxyType        `json:"proxy_type,omitempty"`
	IstioVersion  string                 `json:"istio_version,omitempty"`
	ClusterSent   string                 `json:"cluster_sent,omitempty"`
	ClusterAcked  string                 `json:"cluster_acked,omitempty"`
	ListenerSent  string                 `json:"listener_sent,omitempty"`
	ListenerAcked string                 `json:"listener_acked,omitempty"`
	RouteSent     string                 `json:"route_sent,omitempty"`
	RouteAcked    string                 `json:"route_acked,omitempty"`
	EndpointSent  string                 `json:"endpoint_sent,omitempty"`
	EndpointAcked string                 `json:"endpoint_acked,omitempty"`
	Resources     map[string]typeOfSyncz `json:"resources,omitempty"`
}

// typeOfSyncz is the state of one type.
type typeOfSyncz struct {
	Sent      string    `json:"sent,omitempty"`
	Acked     string    `json:"acked,omitempty"`
	SentTime  time.Time `json:"sentTime,omitzero"`
	LastError string    `json:"lastError,omitempty"`
}

func (p *Pages) syncz(w http.ResponseWriter, r *http.Request) {
	namespace := r.URL.Query().Get("namespace")
	writeList(w, r, "[", "]", func(yield func(syncStatus) bool) {
		for _, c := range p.clients() {
			if (namespace == "" || c.Proxy.Namespace == namespace) && !yield(syncOf(c)) {
				return
			}
		}
	})
}

func syncOf(c xds.Connection) syncStatus {
	out := syncStatus{
		ClusterID: c.Proxy.Metadata.ClusterID, Proxy: c.Proxy.ID, ProxyType: c.Proxy.Type, IstioVersion: c.Proxy.Metadata.IstioVersion,
		Resources: map[string]typeOfSyncz{},
	}
	for _, t := range c.Types {
		out.Resources[t.Type.URL] = typeOfSyncz{Sent: t.Sent, Acked: t.Acked, SentTime: t.SentAt, LastError: t.Refused}
		switch t.Type.URL {
		case resource.ClusterType:
			out.ClusterSent, out.ClusterAcked = t.Sent, t.Acked
		case resource.ListenerType:
			out.ListenerSent, out.ListenerAcked = t.Sent, t.Acked
		case resource.RouteType:
			out.RouteSent, out.RouteAcked = t.Sent, t.Acked
		case resource.EndpointType:
			out.EndpointSent, out.EndpointAcked = t.Sent, t.Acked
		}
	}
	return out
}

// clientConfig is the same for istioctl proxy-status.
func clientConfig(c xds.Connection) *statusv3.ClientConfig {
	node := &corev3.Node{Id: c.Proxy.ID, Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{}}}
	for name, value := range map[string]string{
		"CLUSTER_ID": c.Proxy.Metadata.ClusterID, "NAMESPACE": c.Proxy.Namespace, "ISTIO_VERSION": c.Proxy.Metadata.IstioVersion,
	} {
		node.Metadata.Fields[name] = structpb.NewStringValue(value)
	}
	out := &statusv3.ClientConfig{Node: node}
	for _, t := range c.Types {
		config := &statusv3.ClientConfig_GenericXdsConfig{TypeUrl: t.Type.URL, VersionInfo: t.Sent, ConfigStatus: statusOf(t)}
		if !t.SentAt.IsZero() {
			config.LastUpdated = timestamppb.New(t.SentAt)
		}
		if t.Refused != "" {
			config.ErrorState = &adminv3.UpdateFailureState{Details: t.Refused, VersionInfo: t.RefusedVersion, LastUpdateAttempt: config.GetLastUpdated()}
		}
		out.GenericXdsConfigs = append(out.GenericXdsConfigs, config)
	}
	return out
}

func statusOf(t xds.TypeStatus) statusv3.ConfigStatus {
	switch {
	case t.RefusedVersion != "":
		return statusv3.ConfigStatus_ERROR
	case t.Nonce == "":
		return statusv3.ConfigStatus_NOT_SENT
	case t.Unacknowledged || t.Pending:
		return statusv3.ConfigStatus_STALE
	}
	return statusv3.ConfigStatus_SYNCED
}
