package turn

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// historian reads histories.
type historian struct{ *core.Node }

// read reads and decodes the events up to the length that the fetch returned.
func (h historian) read(working context.Context, inst *provider.Instance) ([]history.Event, error) {
	events := make([]history.Event, 0, inst.HistoryLength)
	for int64(len(events)) < inst.HistoryLength {
		page, err := h.readPage(working, inst, int64(len(events))+1)
		if err != nil {
			return nil, err
		}
		for _, stored := range page.Events {
			if stored.ID != int64(len(events))+1 {
				return nil, fmt.Errorf("event %d follows event %d: %w", stored.ID, len(events), history.ErrCorrupt)
			}
			e, err := history.Decode(stored.ID, stored.Data)
			if err != nil {
				return nil, fmt.Errorf("reading history: %w", err)
			}
			events = append(events, e)
		}
		if len(page.Events) == 0 {
			return nil, fmt.Errorf("history has %d events, the instance row says %d: %w",
				len(events), inst.HistoryLength, history.ErrCorrupt)
		}
	}
	return events, nil
}

func (h historian) readPage(working context.Context, inst *provider.Instance, from int64) (provider.ReadHistoryResult, error) {
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	page, err := h.Store.ReadHistory(ctx, provider.ReadHistoryRequest{
		Key: inst.Key, Execution: inst.Execution, From: from, To: inst.HistoryLength,
	})
	if err != nil {
		return page, &core.StorageError{Err: fmt.Errorf("reading history: %w", err)}
	}
	return page, nil
}
