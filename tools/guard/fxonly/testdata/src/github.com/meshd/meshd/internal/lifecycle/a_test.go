package lifecycle_test

import _ "go.uber.org/fx"
