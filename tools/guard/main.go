// Command guard reports code that breaks the rules of the house which the compiler can't check:
//
//	go run ./tools/guard ./...
//
// README.md lists the rules. It exits with 1 if it found something, and with 2 if it could not look.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/guard ./...")
		for _, a := range analyzers {
			fmt.Fprintf(os.Stderr, "  %-8s %s\n", a.Name, a.Doc)
		}
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	findings, err := check(".", flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(2)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}
