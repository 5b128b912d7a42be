// Command mutants makes every small fault that the assembly can have (one parameter gone, one tag gone, one step in
// another phase) and lists what catches it: the graph check, the plan, a rule, or the lock. It fails if one survives.
package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/lock"
	"github.com/meshd/meshd/internal/lifecycle/mutate"
	"github.com/meshd/meshd/internal/lifecycle/rules"
	"github.com/meshd/meshd/internal/modules"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	variant := modules.Variants()[0] // the one with all components
	components := modules.All(variant.Options)
	plan, violations := lifecycle.Analyze(components)
	if len(violations) > 0 {
		return fmt.Errorf("the unchanged assembly is not sound: %s", violations[0])
	}
	original, err := lock.Of([]lock.Variant{{Name: variant.Name, Plan: plan}})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONSTRUCTOR\tEDIT\tCAUGHT BY")
	counts := map[string]int{}
	survivors := 0
	for _, m := range mutate.All(components) {
		level, by := judge(m, variant.Name, original)
		if level == "" {
			survivors++
			level, by = "nothing", "SURVIVED"
		}
		counts[level]++
		fmt.Fprintf(table, "%s\t%s\t%s\n", m.Constructor, m.Edit, by)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("\ncaught by a rule %d, by the graph check or the plan %d, by the lock alone %d; survived %d\n",
		counts["rule"], counts["graph"], counts["lock"], survivors)
	if survivors > 0 {
		return fmt.Errorf("%d edits survive", survivors)
	}
	return nil
}

// judge names the strongest thing that catches a mutation.
func judge(m mutate.Mutation, variant string, original *lock.Lock) (level, by string) {
	plan, violations := lifecycle.Analyze(m.Components)
	if broken := rules.CheckAll(plan); len(broken) > 0 {
		return "rule", "rule " + broken[0].Rule
	}
	if len(violations) > 0 {
		return "graph", "graph " + violations[0].Rule
	}
	current, err := lock.Of([]lock.Variant{{Name: variant, Plan: plan}})
	if err != nil {
		return "graph", err.Error()
	}
	for _, f := range lock.Verify(original, current, nil) {
		if f.Weakens() {
			return "lock", "lock " + f.Change.String()
		}
	}
	return "", ""
}
