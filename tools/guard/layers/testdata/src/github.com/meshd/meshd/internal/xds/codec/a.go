package codec

import (
	_ "google.golang.org/grpc"
)
