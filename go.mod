module github.com/meshd/meshd

go 1.26.0

require (
	google.golang.org/protobuf v1.36.12
	istio.io/api v1.32.0
)

require (
	github.com/golang/protobuf v1.5.4 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)
