// Package routing shows how to send activities to the right node, in the right order, and at a rate that other
// services can bear.
package routing

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Films is the data of the nodes that work on films.
type Films struct {
	Dir string // directory of this node
}

// Download puts a film into the node's directory.
func (f *Films) Download(_ context.Context, film string) (orchestration.None, error) {
	return orchestration.None{}, os.WriteFile(f.path(film), []byte("all of "+film), 0o600)
}

// Cut needs the file that Download left on this node.
func (f *Films) Cut(_ context.Context, film string) (int, error) {
	data, err := os.ReadFile(f.path(film))
	if errors.Is(err, os.ErrNotExist) {
		return 0, ErrNotHere // another node has taken over the session
	}
	return len(data), err
}

func (f *Films) path(film string) string { return filepath.Join(f.Dir, filepath.Base(film)) }

// ErrNotHere means that the film is on another node.
var ErrNotHere = errors.New("the film is not on this node")

// Mail calls a service that accepts 20 messages per second from all nodes together.
func Mail(_ context.Context, _ string) (orchestration.None, error) { return orchestration.None{}, nil }

// Produce downloads and cuts on one node. If that node is lost in between, it starts over on another.
func Produce(ctx *orchestration.Context, film string) (int, error) {
	var f *Films
	here := orchestration.WithSession(ctx.NewUUID().String())
	queue := orchestration.WithQueue("films")
	for {
		if _, err := orchestration.CallActivity(ctx, f.Download, film, here, queue); err != nil {
			return 0, err
		}
		n, err := orchestration.CallActivity(ctx, f.Cut, film, here, queue)
		if !errors.Is(err, ErrNotHere) {
			return n, err
		}
	}
}

// Order is an order of one of many shops.
type Order struct {
	Shop   string
	Urgent bool
}

// Confirm sends a mail. Shops do not block each other, however many orders one has, and urgent mails go first. A
// mail that is not sent within a day is dropped.
func Confirm(ctx *orchestration.Context, o Order) (string, error) {
	priority := orchestration.PriorityDefault
	if o.Urgent {
		priority = orchestration.PriorityHighest
	}
	_, err := orchestration.CallActivity(ctx, Mail, o.Shop,
		orchestration.WithQueue("mail"),
		orchestration.WithFairnessKey(o.Shop),
		orchestration.WithPriority(priority),
		orchestration.WithScheduleToStartTimeout(24*time.Hour),
	)
	if kind, ok := orchestration.TimeoutKind(err); ok {
		return "not sent: " + string(kind), nil
	}
	return "sent", err
}

// Register is the same on all nodes. The options select what a node serves.
func Register(reg *runtime.Registry, f *Films) error {
	return errors.Join(
		runtime.AddError(reg, "not-here", ErrNotHere),
		runtime.AddActivity(reg, f.Download, runtime.OnQueue("films")),
		runtime.AddActivity(reg, f.Cut, runtime.OnQueue("films")),
		runtime.AddActivity(reg, Mail, runtime.OnQueue("mail")),
		runtime.AddOrchestration(reg, Produce),
		runtime.AddOrchestration(reg, Confirm),
	)
}

// Limits returns the rates of the queues, which hold for all nodes together.
func Limits() map[string]runtime.QueueLimit {
	return map[string]runtime.QueueLimit{
		"mail":  {PerSecond: 20},
		"films": {MaxConcurrent: 8},
	}
}

// FilmNode serves only films, at most four at a time.
func FilmNode() runtime.Options {
	return runtime.Options{Queues: []string{"films"}, QueueLimits: Limits(), Sessions: runtime.SessionOptions{Max: 4}}
}

// TurnNode runs orchestrations but no activities.
func TurnNode() runtime.Options { return runtime.Options{MaxConcurrentActivities: runtime.Off} }
