package layers_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/guardtest"
	"github.com/meshd/meshd/tools/guard/house"
	"github.com/meshd/meshd/tools/guard/layers"
)

func Test(t *testing.T) {
	guardtest.Run(t, layers.Analyzer, house.Module+"/...")
}

func TestEveryRuleHasAReason(t *testing.T) {
	for _, r := range layers.Rules {
		if r.Why == "" || len(r.Packages) == 0 || len(r.Never) == 0 && r.Only == nil {
			t.Errorf("rule about %v forbids nothing or gives no reason: %+v", r.Packages, r)
		}
	}
	for _, p := range layers.Private {
		if p.Why == "" {
			t.Errorf("no reason why %s is private", p.Package)
		}
	}
}
