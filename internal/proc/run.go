package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Run runs a command to its end, its output going to Command.Stdout. It returns nil
// only if the child exited with 0 and all of its output was written; else an
// *ExitError, or what made it stop: the context's cause before all others. A read of
// Command.Stdin may still be under way when it returns.
func Run(ctx context.Context, c Command) error {
	out, err := stream(ctx, c)
	if err != nil {
		return err
	}
	defer out.Close()
	to := c.Stdout
	if to == nil {
		to = io.Discard
	}
	_, err = io.Copy(to, out)
	switch {
	case err == nil || out.err != nil && errors.Is(err, out.err):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("stop %s: %w", out.name, context.Cause(ctx))
	}
	return fmt.Errorf("write output of %s: %w", out.name, err)
}
