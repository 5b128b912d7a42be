package modules

import (
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/admin"
	"github.com/meshd/meshd/internal/lifecycle"
)

// observation has the pages that are about the process and not about the mesh.
func observation() lifecycle.Component {
	return lifecycle.Component{
		Name: "observation",
		For:  "log levels that can be changed, and profiles, on the monitoring port",
		New:  []any{newProfilesPage, newLoggingPages},
	}
}

func newProfilesPage(o Options) pageOut { return pageOut{Page: admin.Profiles(o.Profile)} }

// pagesOut contributes several pages.
type pagesOut struct {
	fx.Out
	Pages []admin.Page `group:"pages,flatten"`
}

func newLoggingPages(o Options, log *zap.Logger) pagesOut {
	if o.Levels == nil {
		return pagesOut{} // an embedding program that keeps its logger's levels to itself
	}
	log = log.Named("observation")
	scopes := o.Levels.Scopes(admin.ScopesPath, log)
	return pagesOut{Pages: []admin.Page{
		{Path: "/debug/logging", Help: "the log level of each component; PUT ?level=xds=debug changes it, DELETE goes back to the start's",
			Handler: o.Levels.Page(log)},
		{Path: admin.ScopesPath, Help: "the same, for istioctl admin log --ctrlz_port 15014", Handler: scopes},
		{Path: admin.ScopesPath + "/", Help: "the same for one component", Handler: scopes},
	}}
}
