package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// A schedule shows its runs under these names, for a prune to read: see package internal/schedule.
const (
	schedulePrefix = reserved.IDPrefix + "schedule/"
	scheduleValue  = "schedule"
)

// scheduled are the runs that a schedule knows. It looks for them by key, so that it knows how they ended.
type scheduled struct {
	Running []scheduledRun `json:"running"` // that it believes running
	Ended   []scheduledRun `json:"ended"`   // newest first
}

type scheduledRun struct {
	Key provider.UUID `json:"key"`
}

// exemptRuns returns the keys that no prune may remove: those that schedules believe running, and the newest run of each.
func (o *Operator) exemptRuns(ctx context.Context, op string) (keys []provider.UUID, err error) {
	req := provider.ListRequest{
		Filter: provider.Filter{IDPrefix: schedulePrefix},
		Omit:   []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
	}
	for {
		page, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.List, req)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("%s: runs of schedules must stay, and cannot be found: %w", op, err)
		}
		if err != nil {
			return nil, access.Explain(op, 0, err)
		}
		for i := range page.Instances {
			if keys, err = o.runsOf(ctx, op, &page.Instances[i], keys); err != nil {
				return nil, err
			}
		}
		if req.Cursor = page.Cursor; req.Cursor == "" {
			return keys, nil
		}
	}
}

// runsOf adds the runs of a schedule that must stay.
func (o *Operator) runsOf(ctx context.Context, op string, i *provider.Instance, keys []provider.UUID) ([]provider.UUID, error) {
	res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Get, provider.GetRequest{Key: i.Key, Value: scheduleValue})
	switch {
	case errors.Is(err, provider.ErrNotFound): // deleted meanwhile
		return keys, nil
	case err != nil:
		return nil, access.Explain(op, 0, err)
	case res.Value == nil:
		return keys, nil
	}
	var s scheduled
	if err := json.Unmarshal(res.Value.Value, &s); err != nil {
		return nil, fmt.Errorf("%s: what %q shows cannot be read, and its runs must stay: %w", op, i.ID, err)
	}
	for _, run := range s.Running {
		keys = append(keys, run.Key)
	}
	if len(s.Ended) > 0 {
		keys = append(keys, s.Ended[0].Key)
	}
	if len(keys) > provider.MaxSpared {
		return nil, fmt.Errorf("%s: %w: schedules have more than %d runs that must stay: delete schedules that are not needed",
			op, client.ErrTooLarge, provider.MaxSpared)
	}
	return keys, nil
}
