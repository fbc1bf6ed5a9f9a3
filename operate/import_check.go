package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// shownFindings is how many findings an error of an import names.
const shownFindings = 5

// check looks for damage in what was imported, as perdure doctor does.
func (i *importing) check(ctx context.Context) error {
	if len(i.keys) == 0 {
		return nil
	}
	// What the rows say of bytes is true of stored events only.
	view := importedStore{Full: sealing.Under(i.caller.Store.Full), keys: make(map[provider.UUID]bool, len(i.keys))}
	for _, key := range i.keys {
		view.keys[key] = true
	}
	report, err := invariant.Check(ctx, view, invariant.Options{})
	if err != nil {
		return fmt.Errorf("%s: checking them: %w", i.op, err)
	}
	if len(report.Findings) == 0 {
		return nil
	}
	var text strings.Builder
	for n := range min(len(report.Findings), shownFindings) {
		f := &report.Findings[n]
		fmt.Fprintf(&text, "\n  %s: instance %q: %s", f.Rule, f.InstanceID, f.Detail)
	}
	return fmt.Errorf("%s: %w: %d findings; they stay suspended here:%s", i.op, ErrUnsound, len(report.Findings), text.String())
}

// importedStore shows the check only instances that were imported, and the rows of their keys.
type importedStore struct {
	*provider.Full

	keys map[provider.UUID]bool
}

// Inspect implements provider.Inspector.
func (a importedStore) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	inspector, ok := provider.As[provider.Inspector](a.Provider)
	if !ok {
		return provider.InspectResult{}, provider.Lacking("inspect", "Inspector")
	}
	res, err := inspector.Inspect(ctx, req)
	if err != nil {
		return res, fmt.Errorf("inspect: %w", err)
	}
	res.Instances = kept(res.Instances, func(i *provider.Instance) provider.UUID { return i.Key }, a.keys)
	res.Executions = kept(res.Executions, func(r *provider.ExecutionRow) provider.UUID { return r.Key }, a.keys)
	res.History = kept(res.History, func(r *provider.HistoryRow) provider.UUID { return r.Key }, a.keys)
	res.Messages = kept(res.Messages, func(r *provider.MessageRow) provider.UUID { return r.Key }, a.keys)
	res.Tasks = kept(res.Tasks, func(r *provider.TaskRow) provider.UUID { return r.Key }, a.keys)
	res.TurnLeases = kept(res.TurnLeases, func(r *provider.TurnLeaseRow) provider.UUID { return r.Key }, a.keys)
	res.Faults = kept(res.Faults, func(r *provider.RowFault) provider.UUID { return r.Key }, a.keys)
	res.Keys = kept(res.Keys, func(key *provider.UUID) provider.UUID { return *key }, a.keys)
	return res, nil
}

func kept[Row any](rows []Row, keyOf func(*Row) provider.UUID, keys map[provider.UUID]bool) []Row {
	return slices.DeleteFunc(rows, func(r Row) bool { return !keys[keyOf(&r)] })
}
