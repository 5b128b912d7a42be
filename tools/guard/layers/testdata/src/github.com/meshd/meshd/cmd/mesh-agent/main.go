package main

import _ "github.com/meshd/meshd/internal/modules" // want `cmd/mesh-agent must not import internal/modules: only internal/cli/... and tools/... may`
func main()                                        {}
