package cli

import "github.com/spf13/cobra"

func (p *process) graph() *cobra.Command   { return &cobra.Command{Use: "graph"} }
func (p *process) startup() *cobra.Command { return &cobra.Command{Use: "startup"} }
