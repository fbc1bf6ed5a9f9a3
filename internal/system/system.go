// Package system holds the orchestrations and activities of perdure itself, which every node runs beside those of its user. They have
// reserved names and versions of their own: a release runs its own version and the two before.
package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	bulkform "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	retentionform "github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/internal/system/bulk"
	"github.com/perdure/perdure/internal/system/retention"
	"github.com/perdure/perdure/internal/system/schedule"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Code is what a node runs for perdure itself.
type Code struct {
	Orchestrations map[provider.Capability]replay.Body
	Activities     map[string]bind.ActivityFunc // of the queue reserved.Queue, by name
}

// New returns the code. Its activities use the client, which has all rights.
func New(c *client.Client) (*Code, error) {
	code := &Code{Orchestrations: make(map[provider.Capability]replay.Body), Activities: make(map[string]bind.ActivityFunc)}
	heartbeat := heartbeatOf(c)
	own := access.OwnStepsOf(operate.New(c))
	act(code, bulkform.Step, step(own.Bulk, heartbeat))
	act(code, bulkform.SecondStep, step(own.SecondBulk, heartbeat))
	act(code, retentionform.Step, step(own.Retention, heartbeat))
	if err := errors.Join(orchestrate(code, bulk.V1()), orchestrate(code, bulk.V2()), orchestrate(code, retention.V1())); err != nil {
		return nil, err
	}
	s := schedule.Activities{Client: c, Newest: "1"}
	act(code, schedule.CheckName, s.Check)
	return code, orchestrate(code, schedule.V1())
}

// step returns the activity that makes a step. An attempt after a crash continues where the last heartbeat says.
func step(
	do access.Step, heartbeat func(ctx context.Context, done []byte, store bool) error,
) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, req json.RawMessage) (json.RawMessage, error) {
		from, _, err := activity.HeartbeatDetails[json.RawMessage](ctx)
		if err != nil {
			from = nil
		}
		done, err := do(ctx, req, from, func(done []byte, store bool) error { return heartbeat(ctx, done, store) })
		if err != nil {
			return nil, err
		}
		return done, nil
	}
}

// heartbeatOf returns the function by which an activity reports its progress. Progress that is not stored at once is stored from time to time.
func heartbeatOf(c *client.Client) func(ctx context.Context, done []byte, store bool) error {
	return func(ctx context.Context, done []byte, store bool) error {
		if store {
			return client.HeartbeatActivity(ctx, c, activity.Token(ctx), json.RawMessage(done))
		}
		_ = activity.Heartbeat(ctx, json.RawMessage(done)) // the end of ctx is for the next call of the store to notice
		return nil
	}
}

type extraKey struct{}

// With returns a context with which a node also runs what add adds. Tests run versions of other releases with it.
func With(ctx context.Context, add func(code *Code, c *client.Client) error) context.Context {
	return context.WithValue(ctx, extraKey{}, add)
}

// Extend adds what With was given.
func (code *Code) Extend(ctx context.Context, c *client.Client) error {
	add, ok := ctx.Value(extraKey{}).(func(*Code, *client.Client) error)
	if !ok {
		return nil
	}
	return add(code, c)
}

// orchestrate adds an orchestration that was made by orchestration.Define, with a version.
func orchestrate[In, Out any](code *Code, fn func(*orchestration.Context, In) (Out, error)) error {
	ref, err := bind.OrchestrationOf(fn)
	if err != nil {
		return fmt.Errorf("adding an orchestration of perdure: %w", err)
	}
	code.Orchestrations[provider.Capability{Name: ref.Name, CodeVersion: ref.Version}] = bind.Orchestration(fn)
	return nil
}

// act adds an activity under a name, to which the reserved prefix is added.
func act[In, Out any](code *Code, name string, fn func(context.Context, In) (Out, error)) {
	code.Activities[reserved.NamePrefix+name] = bind.Activity(fn)
}
