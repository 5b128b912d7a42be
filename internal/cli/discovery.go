package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/meshd/meshd/internal/cli/compat"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/logging"
	"github.com/meshd/meshd/internal/modules"
	"github.com/meshd/meshd/internal/version"
)

// lifecycleLogger names the lines of the runner that are about no component.
const lifecycleLogger = "lifecycle"

func (p *process) discovery() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "discovery",
		Short: "Run the control plane",
		Long: `Run the control plane: read services and endpoints, and serve proxies and gRPC clients over xDS.

Every flag has an environment variable. istiod's flags and variables are honoured or refused by
name, never ignored: see docs/compatibility.md. SIGTERM or SIGINT stops in order, at any moment;
a second one leaves at once.`,
		Example: `  # the sample mesh, on ports that the kernel chooses
  meshd discovery --dir deploy/samples/shop --grpc-addr :0 --http-addr :0 --monitoring-addr :0`,
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true, // istiod's flags are rewritten before they are parsed
		ValidArgsFunction:  cobra.NoFileCompletions,
	}
	s.addTo(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done, err := s.parse(cmd, args, p.environ)
		if done || err != nil {
			return err
		}
		return p.runDiscovery(s)
	}
	return cmd
}

// parse reads arguments and environment; done is true if it was a call for help.
func (s *settings) parse(cmd *cobra.Command, args, environ []string) (done bool, err error) {
	args, err = compat.RewriteArgs(args)
	if err != nil {
		return false, usageError(err)
	}
	cmd.DisableFlagParsing = false
	if err := cmd.ParseFlags(args); err != nil {
		return false, usageError(err)
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return true, cmd.Help()
	}
	if err := noArgs(cmd, cmd.Flags().Args()); err != nil {
		return false, err
	}
	if err := s.fromEnviron(cmd.Flags(), environ); err != nil {
		return false, usageError(err)
	}
	if err := s.validate(); err != nil {
		return false, usageError(err)
	}
	return false, nil
}

func (p *process) runDiscovery(s *settings) error {
	// Signals are taken before anything starts: one that comes during the start leads to an orderly stop too.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	levels, err := logging.ParseLevels(s.logLevel)
	if err != nil {
		return usageError(err)
	}
	format, err := logging.ParseFormat(s.logFormat)
	if err != nil {
		return usageError(err)
	}
	control, err := logging.NewControl(levels, s.loggers())
	if err != nil {
		return usageError(err)
	}
	log := logging.New(zapcore.Lock(zapcore.AddSync(p.stderr)), format, control)
	logging.Redirect(log) // for good: libraries may log to the very end
	log.Info("meshd", zap.Stringer("build", version.Get()))
	for _, note := range compat.Notes(p.environ) {
		log.Info("accepted without effect", zap.String("setting", note))
	}

	s.options.Log, s.options.Levels = log, control
	runner, err := lifecycle.New(modules.All(s.options), log.Named(lifecycleLogger), lifecycle.Options{Began: p.began})
	if err != nil {
		log.Named(lifecycleLogger).Error("ended", zap.Error(err))
		return exitError{exitFailed, errors.New("")}
	}
	if err := runner.Serve(signals, func() { os.Exit(exitAtOnce) }); err != nil {
		return exitError{exitFailed, errors.New("")} // the last line of the log said it
	}
	return nil
}
