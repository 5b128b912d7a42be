package model_test

import (
	"encoding/json"
	"testing"

	"github.com/meshd/meshd/internal/model"
)

func TestIdentity(t *testing.T) {
	i, err := model.Prove("cluster.local", "shop", "cart")
	if err != nil {
		t.Fatal(err)
	}
	if !i.Proven() || i.TrustDomain() != "cluster.local" || i.Namespace() != "shop" || i.ServiceAccount() != "cart" {
		t.Errorf("%v", i)
	}
	text, err := json.Marshal(map[string]model.Identity{"a": i, "b": {}})
	if want := `{"a":"spiffe://cluster.local/ns/shop/sa/cart","b":"nobody"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	for _, parts := range [][3]string{{"", "shop", "cart"}, {"cluster.local", "", "cart"}, {"cluster.local", "shop", ""}, {}} {
		i, err := model.Prove(parts[0], parts[1], parts[2])
		if err == nil || i.Proven() {
			t.Errorf("%q is %v, %v", parts, i, err)
		}
	}
	if (model.Identity{}).Proven() {
		t.Error("nobody is somebody")
	}
}
