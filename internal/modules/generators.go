package modules

import (
	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/extension"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/nametable"
	"github.com/meshd/meshd/internal/translate/proxyless"
	"github.com/meshd/meshd/internal/translate/route"
	"github.com/meshd/meshd/internal/translate/secret"
	"github.com/meshd/meshd/internal/translate/trustbundle"
	"github.com/meshd/meshd/internal/xds"
)

func generators() lifecycle.Component {
	return lifecycle.Component{
		Name: "generators",
		For:  "what makes the resources of each type, and the table that holds all of them",
		New: []any{
			newClusterGenerator, newEndpointGenerator, newListenerGenerator, newRouteGenerator, newProxylessGenerators,
			newSecretGenerator, newExtensionGenerator, newNameTableGenerators, newTrustBundleGenerators,
			newTable,
		},
	}
}

// generatorOut is how a component contributes a generator.
type generatorOut struct {
	fx.Out
	Generator translate.Generator `group:"generators"`
}

// generatorsOut contributes several.
type generatorsOut struct {
	fx.Out
	Generators []translate.Generator `group:"generators,flatten"`
}

func newClusterGenerator() generatorOut { return generatorOut{Generator: cluster.New()} }
func newEndpointGenerator() generatorOut {
	return generatorOut{Generator: endpoint.New(model.FlavorEnvoy)}
}
func newListenerGenerator() generatorOut { return generatorOut{Generator: listener.New()} }
func newRouteGenerator() generatorOut    { return generatorOut{Generator: route.New()} }

func newProxylessGenerators() generatorsOut {
	return generatorsOut{Generators: proxyless.Generators()}
}

func newSecretGenerator() generatorOut    { return generatorOut{Generator: secret.New(secret.None)} }
func newExtensionGenerator() generatorOut { return generatorOut{Generator: extension.New()} }

// Agents ask for these, whoever it is that they stand beside.
func newNameTableGenerators() generatorsOut {
	return generatorsOut{Generators: []translate.Generator{
		nametable.New(model.FlavorEnvoy), nametable.New(model.FlavorGRPC),
	}}
}

func newTrustBundleGenerators() generatorsOut {
	return generatorsOut{Generators: []translate.Generator{
		trustbundle.New(model.FlavorEnvoy, trustbundle.None), trustbundle.New(model.FlavorGRPC, trustbundle.None),
	}}
}

type tableIn struct {
	fx.In
	Generators []translate.Generator `group:"generators"`
}

// newTable fails if a type that is advertised has no generator, or two.
func newTable(in tableIn) (*xds.Table, error) { return xds.NewTable(in.Generators) }
