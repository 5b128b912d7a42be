package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"
)

// Serve starts the application, waits for a signal or for a Run whose end stops the process, and stops everything in
// order. Signals must be taken (signal.Notify) before it is called; the first one, start included, leads to an
// orderly stop, and Serve then returns nil unless something could not be stopped. At a second one it calls exit,
// which must not return.
func (r *Runner) Serve(signals <-chan os.Signal, exit func()) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	asked := make(chan struct{})
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case sig := <-signals:
			r.log.Info("stopping", zap.String("signal", sig.String()))
			cancel(fmt.Errorf("%w: %s", ErrInterrupted, sig))
			close(asked)
		case <-finished:
			return
		}
		select {
		case sig := <-signals:
			r.log.Error("second signal: leaving without an orderly stop", zap.String("signal", sig.String()))
			exit()
		case <-finished:
		}
	}()
	err := r.serve(ctx, asked)
	close(finished)
	<-watched
	r.lastWord(err)
	return err
}

// lastWord logs how it ended: for a step that failed with its name, what it waited for and its budget, because the
// lines of the roll-back have come after the line of the failure.
func (r *Runner) lastWord(err error) {
	if err == nil {
		r.log.Info("stopped")
		return
	}
	fields := []zap.Field{zap.Error(err)}
	if step := (*StepError)(nil); errors.As(err, &step) {
		fields = append(step.fields(), fields...)
	}
	r.log.Error("ended", fields...)
}

func (r *Runner) serve(ctx context.Context, asked <-chan struct{}) error {
	if err := r.Start(ctx); err != nil {
		if errors.Is(err, ErrInterrupted) {
			if step := (*StepError)(nil); errors.As(err, &step) && step.Abandoned {
				return err
			}
			return errors.Join(r.stopErrs...)
		}
		return fmt.Errorf("start failed: %w", err)
	}
	r.log.Info("ready", zap.Duration("after", r.trace.Record().Ready), zap.Int("steps", len(r.plan.Steps)))
	var fatal error
	select {
	case <-asked:
	case fatal = <-r.fatal:
		r.log.Error("stopping", zap.Error(fatal))
	}
	return errors.Join(fatal, r.Stop())
}
