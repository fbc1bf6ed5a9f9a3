package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// named is an instance that got its name back.
type named struct {
	ID   string `json:"id"`
	Key  string `json:"key"`
	Name string `json:"name"`
}

// repairNames gives the instances that have lost the name of their orchestration that name back.
func (a *app) repairNames(ctx context.Context, options invariant.Options, shown *progress) (list []named, err error) {
	report, _, _, err := a.diagnose(ctx, options, shown)
	if err != nil {
		return nil, err
	}
	err = a.withStore(ctx, database.open, func(ctx context.Context, store provider.Provider) error {
		r := renaming{provider.FullOf(store)}
		for _, f := range report.Findings {
			if f.Rule != invariant.MissingName {
				continue
			}
			name, err := r.repair(ctx, f.Key)
			if err != nil {
				return fmt.Errorf("giving %q its name back: %w", f.InstanceID, err)
			}
			list = append(list, named{f.InstanceID, f.Key.String(), name})
		}
		return nil
	})
	return list, err
}

// renaming gives instances their names back.
type renaming struct{ store *provider.Full }

// repair moves an instance to the name and the version of the event that started it. Only the name is known to be lost, so a
// stored version stays.
func (r renaming) repair(ctx context.Context, key provider.UUID) (name string, err error) {
	before, err := r.store.Get(ctx, provider.GetRequest{Key: key})
	if err != nil || before.Instance.Name != "" {
		return before.Instance.Name, err
	}
	start, err := r.start(ctx, &before.Instance)
	if err != nil {
		return "", err
	}
	_, err = r.store.Steer(ctx, provider.SteerRequest{
		Key: key, Action: provider.SteerMove, Commit: provider.UUID(uuid.New()), Name: start.Name,
		CodeVersion: cmp.Or(before.Instance.CodeVersion, start.CodeVersion),
	})
	return start.Name, err
}

// start returns the event that started the current execution: from the history, or from the inbox if no turn has run.
func (r renaming) start(ctx context.Context, in *provider.Instance) (*history.ExecutionStarted, error) {
	if in.HistoryLength == 0 {
		return r.waiting(ctx, in.Key)
	}
	page, err := r.store.ReadHistory(ctx, provider.ReadHistoryRequest{Key: in.Key, Execution: in.Execution, From: 1, To: 1})
	if err != nil {
		return nil, err
	}
	for _, e := range page.Events {
		if start := startOf(e.Data); start != nil {
			return start, nil
		}
	}
	return nil, errors.New("its history does not begin with its start")
}

// startOf returns the start that an event holds, nil if it holds another event.
func startOf(data []byte) *history.ExecutionStarted {
	e, _, err := history.DecodeShown(1, data)
	if err != nil {
		return nil
	}
	start, _ := e.Body.(*history.ExecutionStarted)
	return start
}

// waiting finds the start among the messages. Only an export reads those, and only of an instance that is sealed for the moment.
func (r renaming) waiting(ctx context.Context, key provider.UUID) (start *history.ExecutionStarted, err error) {
	mover, can := provider.As[provider.Mover](r.store)
	if !can {
		return nil, provider.Lacking("export", "Mover")
	}
	transfer := provider.UUID(uuid.New())
	seal := func(ctx context.Context, states ...provider.SealState) error {
		for _, to := range states {
			_, err := mover.Seal(ctx, provider.SealRequest{
				Key: key, Transfer: transfer, To: to, Commit: provider.UUID(uuid.New()), Back: true,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	defer func() {
		const patience = 10 * time.Second
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, seal(back, provider.SealHeld, provider.SealNone))
	}()
	if err := seal(ctx, provider.SealHeld, provider.SealClosed); err != nil {
		return nil, err
	}
	for req := (provider.ExportRequest{Key: key, Transfer: transfer}); ; {
		page, err := mover.Export(ctx, req)
		if err != nil {
			return nil, err
		}
		for i := range page.Parcel.Messages {
			if start := startOf(page.Parcel.Messages[i].Payload); start != nil {
				return start, nil
			}
		}
		if req.Cursor = page.Cursor; req.Cursor == "" {
			return nil, errors.New("its start is neither in its history nor in its inbox")
		}
	}
}
