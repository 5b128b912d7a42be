package fxdot

import _ "go.uber.org/fx"
