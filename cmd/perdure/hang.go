package main

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// registerHang registers code that does not come back, to show what becomes of a node.
func registerHang(reg *runtime.Registry) error {
	return errors.Join(runtime.AddOrchestration(reg, CallHang), runtime.AddActivity(reg, Hang))
}

// CallHang gives up after a moment.
func CallHang(ctx *orchestration.Context, in orchestration.None) (orchestration.None, error) {
	return orchestration.CallActivity(ctx, Hang, in, orchestration.WithStartToCloseTimeout(10*time.Millisecond))
}

// Hang obeys nothing.
func Hang(context.Context, orchestration.None) (orchestration.None, error) { select {} }
