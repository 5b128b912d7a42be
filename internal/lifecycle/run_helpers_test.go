package lifecycle_test

import "go.uber.org/zap"

func nop() *zap.Logger { return zap.NewNop() }
