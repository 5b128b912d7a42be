package xds

import (
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A type of which there is nothing is answered with nothing, in a version of its own, and that is seen: on the page of
// connections, in a count, and once in the log.
func TestNothing(t *testing.T) { protocols(t, testNothing) }

func testNothing(t *testing.T, p protocol) {
	r := p.rig(t)
	r.publish()
	c := r.connect("web")
	for _, line := range []string{"sds a b", "ecds a", "pcds"} {
		short := strings.Fields(line)[0]
		r.subscribe(c, line)
		s := r.count(c, short, 1)
		resp := s.Of(typeURLs[short])[0]
		if len(resp.GetResources()) != 0 || resp.GetVersionInfo() == "" || resp.GetNonce() == "" {
			t.Errorf("%s: answered with %v, want no resources and a version", short, resp)
		}
		if r.delta && len(s.DeltasOf(typeURLs[short])[0].GetRemovedResources()) != 0 {
			t.Errorf("%s: it is said to be removed", short)
		}
		if n := r.metric("meshd_xds_empty_responses_total{" + short + "}"); n != 1 {
			t.Errorf("%s: counted %v times", short, n)
		}
	}
	r.subscribe(c, "ecds a c")
	r.count(c, "ecds", 2)
	if n := r.logs.FilterMessageSnippet("there is none of").Len(); n != 3 {
		t.Errorf("%d lines in the log, want one for each type", n)
	}
	for _, s := range r.types() {
		if s.Sent != "0000000000000000" {
			t.Errorf("%s is shown as %q, want the version of nothing", s.Type.Short, s.Sent)
		}
	}
	// What there is of a type later is sent as of any.
	r.set("ecds c=1").publish()
	r.want(c, "ecds c=1")
}

// An agent's report on its workload wants no answer, comes when it likes, be it first, and breaks nothing.
func TestHealthReport(t *testing.T) { protocols(t, testHealthReport) }

func testHealthReport(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("cds a=1").publish()
	c := r.connect("web")
	report := func() {
		t.Helper()
		var err error
		if r.delta {
			err = c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resource.HealthType})
		} else {
			err = c.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.HealthType})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.introduce(c, "", resource.HealthType) // without a node, as the client will say it next
	r.introduce(c, node("web"), resource.ClusterType)
	r.want(c, "cds a=1")
	report()
	r.set("cds a=2").publish()
	s := r.want(c, "cds a=2")
	for _, resp := range s.Responses {
		if resp.GetTypeUrl() == resource.HealthType {
			t.Errorf("a report is answered: %v", resp)
		}
	}
	r.eventually("both are counted", func() bool { return r.metric("meshd_xds_unknown_types_total") == 2 })
}

// Agents get what they ask for themselves though they do not answer what has nothing in it.
func TestAgentTypes(t *testing.T) { protocols(t, testAgentTypes) }

func testAgentTypes(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("nds table=1").publish()
	c := r.connect("web", manual, func(o *xdsclient.Options) { o.Metadata["DNS_CAPTURE"] = "true" })
	r.subscribe(c, "pcds")
	r.subscribe(c, "nds")
	r.count(c, "nds", 1)
	r.count(c, "pcds", 1)
	r.set("pcds roots=1").publish()
	s := r.count(c, "pcds", 2)
	if n := len(s.Of(resource.ProxyConfigType)[1].GetResources()); n != 1 {
		t.Errorf("%d bundles, want the one there is now", n)
	}
	if n := len(s.Of(resource.NameTableType)[0].GetResources()); n != 1 {
		t.Errorf("%d tables, want one", n)
	}
}
