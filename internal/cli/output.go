package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// outputFlag adds -o/--output with the values that a command knows. A wrong value is a usage error that lists them.
func outputFlag(cmd *cobra.Command, value *string, standard string, values ...string) {
	choiceFlag(cmd, value, "output", "o", standard, "form of the output", values...)
}

// choiceFlag adds a flag that takes one of some values, completes them, and refuses others.
func choiceFlag(cmd *cobra.Command, value *string, name, short, standard, usage string, values ...string) {
	*value = standard
	cmd.Flags().VarP(&choice{value: value, values: values}, name, short, usage+": "+strings.Join(values, ", "))
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

type choice struct {
	value  *string
	values []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "string" }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.values, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.values, ", "))
	}
	*c.value = s
	return nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
