package xds

import (
	_ "github.com/meshd/meshd/internal/authn" // want `internal/xds must not import internal/authn: rule hot-path-is-alone: a slow signer`
	_ "github.com/meshd/meshd/internal/registry"
	_ "github.com/meshd/meshd/internal/translate"
	_ "github.com/meshd/meshd/internal/wrap" // want `internal/xds must not import internal/ca, also not through others: internal/xds → internal/wrap → internal/wrap/deep → internal/ca: rule hot-path-is-alone` `also not through others: internal/xds → internal/wrap → internal/wrap/deep → internal/kube/election: rule` `→ internal/kube/election → k8s.io/client-go/tools/leaderelection: rule`
	_ "google.golang.org/grpc"
	_ "time"
)
