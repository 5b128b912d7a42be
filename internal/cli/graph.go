package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/render"
	"github.com/meshd/meshd/internal/lifecycle/rules"
	"github.com/meshd/meshd/internal/modules"
)

// planOf derives the plan of the application that some flags make. Nothing is constructed.
func planOf(o modules.Options) (*lifecycle.Plan, error) {
	plan, violations := lifecycle.Analyze(modules.All(o))
	if len(violations) > 0 {
		return nil, fmt.Errorf("the start-up graph is not sound; `meshd graph verify` says more: %s", violations[0])
	}
	return plan, nil
}

func (p *process) graph() *cobra.Command {
	s := &settings{}
	var phase, format string
	var o render.Options
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Show, explain and verify the start-up graph",
		Long: `Show the order in which meshd starts and stops, and why.

The graph is derived from the signatures of constructors and the tags of steps: nothing is
constructed, no cluster is asked, no port is opened. It takes the flags of 'meshd discovery',
because they decide which components there are.`,
		Example: `  meshd graph                                  # phases, steps, who needs whom
  meshd graph --format svg > startup.svg       # or dot, mermaid, json
  meshd graph --phase sync
  meshd graph --focus snapshot
  meshd graph --stop                           # the order of stopping
  meshd graph why source.load listeners.plaintext
  meshd graph rdeps mesh-config
  meshd graph verify --lock startup.lock`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := s.plan(cmd, p.environ)
			if err != nil {
				return err
			}
			if phase != "" {
				if o.Phase, err = lifecycle.ParsePhase(phase); err != nil {
					return usageError(fmt.Errorf("--phase: %w", err))
				}
			}
			return asUsage(render.Write(p.stdout, format, plan, o))
		},
	}
	s.addTo(cmd.PersistentFlags())
	choiceFlag(cmd, &format, "format", "f", "text", "what to write", render.Formats()...)
	cmd.Flags().StringVar(&phase, "phase", "", "show one phase only")
	cmd.Flags().StringVar(&o.Focus, "focus", "", "show one component, constructor or step, and its neighbours")
	cmd.Flags().BoolVar(&o.Stop, "stop", false, "show the order of stopping")
	cmd.Flags().BoolVar(&o.Data, "data", false, "draw also which values flow between the steps' constructors")
	_ = cmd.RegisterFlagCompletionFunc("phase", cobra.FixedCompletions(phaseNames(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("focus", p.completeNames(s))
	cmd.AddCommand(p.graphWhy(s), p.graphRdeps(s), p.graphVerify(), p.graphLock(), p.graphDiff())
	return cmd
}

// plan reads flags and environment, and derives the plan that they make. The source may be left out here: it takes no
// directory to show the graph of a meshd that reads one.
func (s *settings) plan(cmd *cobra.Command, environ []string) (*lifecycle.Plan, error) {
	if err := s.fromEnviron(cmd.Flags(), environ); err != nil {
		return nil, usageError(err)
	}
	if s.options.Dir == "" {
		s.options.Dir = "."
	}
	if err := s.validate(); err != nil {
		return nil, usageError(err)
	}
	return planOf(s.options)
}

func phaseNames() (names []string) {
	for _, p := range lifecycle.Phases() {
		names = append(names, p.String())
	}
	return names
}

// completeNames completes names of steps and components.
func (p *process) completeNames(s *settings) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		plan, err := s.plan(cmd, p.environ)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, step := range plan.Steps {
			names = append(names, cobra.CompletionWithDesc(step.Name, "step of "+step.Component))
		}
		for _, c := range plan.Graph.Components {
			names = append(names, cobra.CompletionWithDesc(c.Name, c.For))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *process) graphWhy(s *settings) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "why A B",
		Short:             "Explain what makes A come before B, and which rule rests on it",
		Long:              "Print the shortest chain of dependencies that makes A come before B, and the rule it serves.\nA and B are steps, components or constructors.",
		Example:           "  meshd graph why mesh-config.load snapshot.catch-up\n  meshd graph why source listeners",
		Args:              exactArgs(2),
		ValidArgsFunction: p.completeNames(s),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := s.plan(cmd, p.environ)
			if err != nil {
				return err
			}
			chain, err := render.Why(plan, args[0], args[1], servedBy(plan))
			if err != nil {
				return usageError(err)
			}
			if output == "json" {
				return chain.WriteJSON(p.stdout)
			}
			return chain.WriteText(p.stdout)
		},
	}
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

func servedBy(plan *lifecycle.Plan) render.Rules {
	return func(before, after string) (out []render.RuleRef) {
		for _, r := range rules.All() {
			if r.Served(plan, before, after) {
				out = append(out, render.RuleRef{ID: r.ID, Symptom: r.Symptom})
			}
		}
		return out
	}
}

func (p *process) graphRdeps(s *settings) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "rdeps NAME",
		Short:             "List everything that depends on a step, component or constructor",
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeNames(s),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := s.plan(cmd, p.environ)
			if err != nil {
				return err
			}
			dependent, err := render.Rdeps(plan, args[0])
			if err != nil {
				return usageError(err)
			}
			if output == "json" {
				return dependent.WriteJSON(p.stdout)
			}
			return dependent.WriteText(p.stdout)
		},
	}
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

// asUsage makes an error about a name that the user gave a usage error.
func asUsage(err error) error {
	if _, ok := err.(*render.UnknownName); ok {
		return usageError(err)
	}
	return err
}

func openOrStandard(file string) (*os.File, error) {
	if file == "-" {
		return os.Stdin, nil
	}
	return os.Open(file)
}
