package fileprovider

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// releaseTurns is the only request with arbitrary bytes: a panic's message. JSON would change bytes that are not
// UTF-8.
type releaseTurns struct{ provider.ReleaseTurnsRequest }

type releasedTurn struct {
	provider.TurnRelease

	Said []byte // the message of its failure
}

// MarshalJSON implements json.Marshaler.
func (r releaseTurns) MarshalJSON() ([]byte, error) {
	items := make([]releasedTurn, len(r.Items))
	for i, item := range r.Items {
		items[i].TurnRelease = item
		if item.Failure != nil {
			items[i].Said = []byte(item.Failure.Message)
		}
	}
	return json.Marshal(items) //nolint:musttag // fields go by their own names, as in all records
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *releaseTurns) UnmarshalJSON(data []byte) error {
	var items []releasedTurn
	if err := json.Unmarshal(data, &items); err != nil { //nolint:musttag // see MarshalJSON
		return err
	}
	r.Items = make([]provider.TurnRelease, len(items))
	for i, item := range items {
		r.Items[i] = item.TurnRelease
		if item.Failure != nil {
			r.Items[i].Failure.Message = string(item.Said)
		}
		r.Items[i].Kind = kindOf(&r.Items[i])
	}
	return nil
}

// kindOf returns the kind of an item. Journals of earlier releases have none: the fields that were set said it.
func kindOf(item *provider.TurnRelease) provider.ReleaseKind {
	switch {
	case item.Kind != provider.ReleaseClean:
		return item.Kind
	case item.Failure != nil:
		return provider.ReleaseFailed
	case item.Owner != "":
		return provider.ReleaseUnpin
	case item.Key.IsZero():
		return provider.ReleaseToken
	default:
		return provider.ReleaseClean
	}
}

// reporting returns a call of ReportTasks on the memory store. In journals of earlier releases a release without a task
// meant all of its token.
func reporting(state *memory.Provider) func(context.Context, provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return func(ctx context.Context, r provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
		for i := range r.Items {
			if r.Items[i].Outcome == provider.TaskRelease && r.Items[i].TaskRef == (provider.TaskRef{}) {
				r.Items[i].Outcome = provider.TaskReleaseAll
			}
		}
		return state.ReportTasks(ctx, r)
	}
}

// releasing returns a call of ReleaseTurns on the memory store.
func releasing(state *memory.Provider) func(context.Context, releaseTurns) (provider.ReleaseTurnsResult, error) {
	return func(ctx context.Context, r releaseTurns) (provider.ReleaseTurnsResult, error) {
		return state.ReleaseTurns(ctx, r.ReleaseTurnsRequest)
	}
}
