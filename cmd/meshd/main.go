// Command meshd is a service-mesh control plane.
package main

import (
	"os"

	"github.com/meshd/meshd/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }
