package xds

import "github.com/meshd/meshd/internal/model"

var somebody = model.Prove("cart")
