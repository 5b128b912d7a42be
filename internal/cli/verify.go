package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/lock"
	"github.com/meshd/meshd/internal/lifecycle/rules"
	"github.com/meshd/meshd/internal/modules"
)

// lockFile is where the lock of this application stands in its repository.
const lockFile = "startup.lock"

// verdict is what `meshd graph verify` has to say.
type verdict struct {
	// Variants are the combinations of flags that were verified, and Rules the rules that each of them keeps.
	Variants []verifiedVariant `json:"variants"`
	// Lock is the lock file that was compared; none if a variant has violations.
	Lock     string         `json:"lock,omitempty"`
	Findings []lock.Finding `json:"lock_findings,omitempty"`
	OK       bool           `json:"ok"`
}

type verifiedVariant struct {
	Name       string                `json:"name"`
	Steps      int                   `json:"steps"`
	Rules      []string              `json:"rules"`
	Violations []lifecycle.Violation `json:"violations,omitempty"`
}

func (p *process) graphVerify() *cobra.Command {
	var file, output string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every variant of the start-up graph against the rules, and against the lock",
		Long: `Check the start-up graph of every combination of flags that exists: the rules of docs/ordering.md,
and what the wiring leaves unsaid, such as dead constructors or groups that nobody reads. With --lock,
check also that nothing the lock file records was removed or weakened.

The exit code is 1 if anything is found.`,
		Example: "  meshd graph verify --lock startup.lock",
		Args:    noArgs,
		PreRunE: noSettings,
		RunE: func(*cobra.Command, []string) error {
			v, err := verify(file)
			if err != nil {
				return err
			}
			if output == "json" {
				if err := writeJSON(p.stdout, v); err != nil {
					return err
				}
			} else {
				p.printVerdict(v)
			}
			if !v.OK {
				return exitError{exitFailed, v.failure()}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "lock", "", "lock file to compare with, for example "+lockFile)
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

// failure says in a word what is to be done about it.
func (v verdict) failure() error {
	weakens := func(f lock.Finding) bool { return f.Weakens() }
	if v.Lock != "" && !slices.ContainsFunc(v.Findings, weakens) {
		return fmt.Errorf("%s does not record what is new: look at it, and run \"meshd graph lock %s\"", v.Lock, v.Lock)
	}
	return errors.New("the start-up graph breaks what it promises")
}

// noSettings refuses the flags of discovery where they would be ignored.
func noSettings(cmd *cobra.Command, _ []string) (err error) {
	(&settings{}).visit(cmd.Flags(), func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = usageError(fmt.Errorf("--%s has no effect on %q, which is about every combination of flags", f.Name, cmd.CommandPath()))
		}
	})
	return err
}

func verify(file string) (verdict, error) {
	v := verdict{OK: true}
	var variants []lock.Variant
	for _, variant := range modules.Variants() {
		plan, violations := lifecycle.Analyze(modules.All(variant.Options))
		found := verifiedVariant{Name: variant.Name, Steps: len(plan.Steps), Violations: violations}
		for _, r := range rules.All() {
			if r.Applies(plan) {
				found.Rules = append(found.Rules, r.ID)
				found.Violations = append(found.Violations, r.Check(plan)...)
			}
		}
		v.OK = v.OK && len(found.Violations) == 0
		v.Variants = append(v.Variants, found)
		variants = append(variants, lock.Variant{Name: variant.Name, Plan: plan})
	}
	if file == "" || !v.OK { // a plan that is not sound cannot be compared
		return v, nil
	}
	locked, err := readLock(file)
	if err != nil {
		return v, err
	}
	current, err := lock.Of(variants)
	if err != nil {
		return v, err
	}
	plan := variants[0].Plan // the one with all components
	v.Lock = file
	v.Findings = lock.Verify(locked, current, func(before, after string) []string { return rules.Serving(plan, before, after) })
	v.OK = len(v.Findings) == 0
	return v, nil
}

func (p *process) printVerdict(v verdict) {
	for _, variant := range v.Variants {
		fmt.Fprintf(p.stdout, "%s: %d steps, %d rules, %d violations\n", variant.Name, variant.Steps, len(variant.Rules), len(variant.Violations))
		for _, violation := range variant.Violations {
			fmt.Fprintf(p.stdout, "  %s: %s\n", violation.Rule, violation.Message)
			if violation.Symptom != "" {
				fmt.Fprintf(p.stdout, "      a user would see: %s\n", violation.Symptom)
			}
			if violation.Pos != "" {
				fmt.Fprintf(p.stdout, "      at %s\n", violation.Pos)
			}
		}
	}
	if v.Lock == "" {
		return
	}
	fmt.Fprintf(p.stdout, "%s: %d differences\n", v.Lock, len(v.Findings))
	for _, f := range v.Findings {
		fmt.Fprintf(p.stdout, "  %s\n", f)
	}
}

func (p *process) graphLock() *cobra.Command {
	return &cobra.Command{
		Use:   "lock [FILE]",
		Short: "Record the start-up graph in a lock file, to be committed",
		Long: `Write down every fact of the start-up graph, one a line and sorted: phases and other tags of steps,
who needs, reads and contributes what, and the orders that follow. 'meshd graph verify --lock' compares.`,
		Args:    fileAtMost,
		PreRunE: noSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			current, err := currentLock()
			if err != nil {
				return err
			}
			file := lockFile
			if len(args) == 1 {
				file = args[0]
			}
			if file == "-" {
				return lock.Write(p.stdout, current)
			}
			f, err := os.Create(file)
			if err != nil {
				return fmt.Errorf("writing the lock: %w", err)
			}
			if err := lock.Write(f, current); err != nil {
				return errors.Join(fmt.Errorf("writing the lock %s: %w", file, err), f.Close())
			}
			return f.Close()
		},
	}
}

// currentLock makes the lock of the code.
func currentLock() (*lock.Lock, error) {
	var variants []lock.Variant
	for _, v := range modules.Variants() {
		plan, err := planOf(v.Options)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		variants = append(variants, lock.Variant{Name: v.Name, Plan: plan})
	}
	return lock.Of(variants)
}

func readLock(file string) (*lock.Lock, error) {
	f, err := openOrStandard(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no lock file %s: write one with `meshd graph lock %s`", file, file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock: %w", err)
	}
	defer f.Close()
	l, err := lock.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("lock file %s: %w", file, err)
	}
	return l, nil
}

func (p *process) graphDiff() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "diff OLD NEW",
		Short:   "Compare two lock files",
		Example: "  git show HEAD~1:startup.lock | meshd graph diff - startup.lock",
		Args:    exactArgs(2),
		PreRunE: noSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readLock(args[0])
			if err != nil {
				return err
			}
			after, err := readLock(args[1])
			if err != nil {
				return err
			}
			changes := lock.Diff(before, after)
			if output == "json" {
				return lock.WriteDiffJSON(p.stdout, changes)
			}
			return lock.WriteDiff(p.stdout, changes)
		},
	}
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}
