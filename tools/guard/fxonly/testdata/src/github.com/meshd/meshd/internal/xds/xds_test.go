package xds_test

import _ "go.uber.org/fx" // want `internal/xds imports go.uber.org/fx:`
