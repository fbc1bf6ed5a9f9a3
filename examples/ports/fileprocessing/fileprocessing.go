// Package fileprocessing downloads a file, works on it and uploads the result, all on the node that has the file.
// orchestration.WithSession keeps activities on one node. If that node is lost, the next activity finds no file and the work starts over.
package fileprocessing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// ErrLost says that the node has no such file. Register it with runtime.AddError: the orchestration decides by it.
var ErrLost = errors.New("the file is not on this node")

// Disk is the disk of one node.
type Disk struct {
	Dir    string
	Upload func(ctx context.Context, name string, data []byte) error
}

// Part is one file in the directory of an instance.
type Part struct{ Instance, Name string }

// Download fetches a file.
func (d *Disk) Download(_ context.Context, p Part) (activity.None, error) {
	if err := os.MkdirAll(d.path(p.Instance), 0o700); err != nil {
		return activity.None{}, err
	}
	return activity.None{}, os.WriteFile(d.path(p.Instance, p.Name), []byte("rows of "+p.Name), 0o600)
}

// Convert makes another file of it, and returns the name of that.
func (d *Disk) Convert(_ context.Context, p Part) (Part, error) {
	data, err := os.ReadFile(d.path(p.Instance, p.Name))
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrLost, err)
	}
	out := Part{p.Instance, p.Name + ".out"}
	return out, os.WriteFile(d.path(out.Instance, out.Name), bytes.ToUpper(data), 0o600) //nolint:gosec // path keeps it in the directory
}

// Send uploads a file.
func (d *Disk) Send(ctx context.Context, p Part) (activity.None, error) {
	data, err := os.ReadFile(d.path(p.Instance, p.Name))
	if err != nil {
		return activity.None{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	return activity.None{}, d.Upload(ctx, p.Name, data)
}

// Clean removes the directory of an instance.
func (d *Disk) Clean(_ context.Context, instance string) (activity.None, error) {
	return activity.None{}, os.RemoveAll(d.path(instance))
}

func (d *Disk) path(names ...string) string {
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return filepath.Join(append([]string{d.Dir}, names...)...)
}

// Process returns how often it had to begin.
func Process(ctx *orchestration.Context, name string) (int, error) {
	for tries := 1; ; tries++ {
		err := once(ctx, name)
		if err == nil || !errors.Is(err, ErrLost) || tries == 5 {
			return tries, err
		}
	}
}

// once does all in a session of its own.
func once(ctx *orchestration.Context, name string) error {
	var disk *Disk // never called here: it only names the activities
	session := ctx.NewUUID().String()
	defer orchestration.EndSession(ctx, session)
	ctx = ctx.WithActivityOptions(orchestration.WithSession(session), orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	part := Part{Instance: ctx.Info().ID, Name: name}
	if _, err := orchestration.CallActivity(ctx, disk.Download, part); err != nil {
		return err
	}
	out, err := orchestration.CallActivity(ctx, disk.Convert, part)
	if err == nil {
		_, err = orchestration.CallActivity(ctx, disk.Send, out)
	}
	if err == nil {
		_, err = orchestration.CallActivity(ctx, disk.Clean, part.Instance)
	}
	return err
}
