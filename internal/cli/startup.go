package cli

import "github.com/spf13/cobra"

func (p *process) startup() *cobra.Command { return &cobra.Command{Use: "startup"} }
