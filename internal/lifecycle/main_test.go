package lifecycle_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Every test leaves no goroutine behind: steps that ignore their context are let go by the test that has them.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
