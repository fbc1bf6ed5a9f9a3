// Package pools shows activities that use the CPU together with activities that only wait.
package pools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	goruntime "runtime"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Media downloads pictures and processes them.
type Media struct {
	Get      func(ctx context.Context, url string) ([]byte, error)
	Recorder Recorder
}

// Recorder is a service that calls back.
type Recorder interface {
	Record(url string, done func(id int, err error))
}

// Fetch waits for the network. Hundreds of calls can do so at the same time.
func (m *Media) Fetch(ctx context.Context, url string) ([]byte, error) { return m.Get(ctx, url) }

// Hash uses the CPU.
func (m *Media) Hash(_ context.Context, picture []byte) (string, error) {
	sum := sha256.Sum256(picture)
	return hex.EncodeToString(sum[:4]), nil
}

// Record returns at once and ends when the recorder calls back. It keeps its slot until then.
func (m *Media) Record(ctx context.Context, url string) (int, error) {
	completer := activity.Defer[int](ctx)
	m.Recorder.Record(url, func(id int, err error) {
		if err != nil {
			_ = completer.Fail(err) // an error means that no caller waits any more
			return
		}
		_ = completer.Complete(id)
	})
	return 0, activity.ErrPending
}

// Register registers each function with the pool that it needs.
func Register(reg *runtime.Registry, m *Media) error {
	return errors.Join(
		runtime.AddActivity(reg, m.Fetch),
		runtime.AddActivity(reg, m.Hash, runtime.InPool("cpu")),
		runtime.AddActivity(reg, m.Record, runtime.MaxConcurrent(20)),
		runtime.AddOrchestration(reg, Archive),
	)
}

// Options gives the pool one slot per CPU.
func Options() runtime.Options {
	return runtime.Options{
		MaxConcurrentActivities: 1000,
		Pools:                   map[string]int{"cpu": goruntime.GOMAXPROCS(0)},
	}
}

// Archive hashes and records a picture.
func Archive(ctx *orchestration.Context, url string) (string, error) {
	var m *Media
	picture, err := orchestration.CallActivity(ctx, m.Fetch, url)
	if err != nil {
		return "", err
	}
	hash := orchestration.StartActivity(ctx, m.Hash, picture)
	if _, err := orchestration.CallActivity(ctx, m.Record, url); err != nil {
		return "", err
	}
	return hash.Get(ctx)
}
