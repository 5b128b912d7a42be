package election

import (
	_ "k8s.io/client-go/tools/leaderelection"
)
