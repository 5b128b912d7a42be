package main

import _ "github.com/meshd/meshd/internal/cli"

func main() {}
