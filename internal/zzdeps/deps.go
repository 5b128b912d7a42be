// Package zzdeps keeps requirements in go.mod until their users exist.
package zzdeps

import (
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/go-logr/zapr"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/fx"
	_ "go.uber.org/goleak"
	_ "go.uber.org/zap"
	_ "go.uber.org/zap/zapgrpc"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/time/rate"
	_ "golang.org/x/tools/go/analysis/multichecker"
	_ "google.golang.org/grpc"
	_ "google.golang.org/grpc/xds"
	_ "istio.io/api/mesh/v1alpha1"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/api/discovery/v1"
	_ "k8s.io/klog/v2"
	_ "sigs.k8s.io/yaml"
)
