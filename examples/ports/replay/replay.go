// Package replay checks, before a deploy, that new code goes on with what old code has begun. Histories are exported with
// client.Handle.ExportHistory and replayed with runtime.Replay. A test of the new release does it with orchestrationtest.Replay.
package replay

import (
	"context"
	"io"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Export writes the current history of an instance in the form that runtime.Replay reads.
func Export(ctx context.Context, c *client.Client, id string, w io.Writer) error {
	h, err := client.Lookup[orchestration.None](ctx, c, id)
	if err != nil {
		return err
	}
	file, err := h.ExportHistory(ctx, 0)
	if err != nil {
		return err
	}
	return client.WriteHistory(w, file)
}

// Three releases of the same orchestration.
//
//nolint:gochecknoglobals // constants: functions with a name
var (
	Old   = orchestration.Define("ship", packThenMail)
	Wrong = orchestration.Define("ship", mailThenPack)
	Right = orchestration.Define("ship", patched)
)

func packThenMail(ctx *orchestration.Context, order string) (orchestration.None, error) {
	if _, err := orchestration.CallActivity(ctx, Pack, order); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.CallActivity(ctx, Mail, order)
}

// mailThenPack does in another order what instances have begun in the old one.
func mailThenPack(ctx *orchestration.Context, order string) (orchestration.None, error) {
	if _, err := orchestration.CallActivity(ctx, Mail, order); err != nil {
		return orchestration.None{}, err
	}
	return orchestration.CallActivity(ctx, Pack, order)
}

// patched asks whether the instance began with the old code.
func patched(ctx *orchestration.Context, order string) (orchestration.None, error) {
	if ctx.Patched("mail-first") {
		return mailThenPack(ctx, order)
	}
	return packThenMail(ctx, order)
}

// Pack packs an order.
func Pack(ctx context.Context, order string) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "pack", "order", order)
	return activity.None{}, nil
}

// Mail tells the customer.
func Mail(ctx context.Context, order string) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "mail", "order", order)
	return activity.None{}, nil
}
