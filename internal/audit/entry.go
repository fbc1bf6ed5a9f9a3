package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/perdure/perdure/provider"
)

// space holds the records. Their keys sort the newest first.
const space = "perdure/audit"

// The outcomes of an act. An empty one is unknown: the act was interrupted, or is in progress.
const (
	Done   = "done"
	Failed = "failed" // Entry.Error says why
)

// Entry is one act.
type Entry struct {
	Key       string        `json:"-"` // of the record
	At        provider.Time `json:"at"`
	Principal string        `json:"principal"`
	Role      string        `json:"role"`
	Act       string        `json:"act"`
	Instance  string        `json:"instance,omitempty"` // its ID
	Of        provider.UUID `json:"of,omitzero"`        // the key of the instance
	Other     string        `json:"other,omitempty"`    // what the act is about if it is about no instance
	Detail    string        `json:"detail,omitempty"`
	RequestID string        `json:"requestId,omitempty"`
	Outcome   string        `json:"outcome,omitempty"`
	Error     string        `json:"error,omitempty"`
	EndedAt   provider.Time `json:"endedAt,omitzero"`
}

// Begin writes the intent. now is the caller's time. It orders the record among others; At becomes the storage's time. A repeat
// after an unknown outcome succeeds.
func (e *Entry) Begin(ctx context.Context, store provider.Keeper, now provider.Time) error {
	if e.Key == "" {
		e.Key = before(now) + "-" + uuid.NewString()
	}
	at, err := e.put(ctx, store, 0)
	if err != nil {
		return fmt.Errorf("writing the audit record: %w", err)
	}
	e.At = at
	return nil
}

// End writes the outcome of an entry that Begin has written. failed is the error of the act.
func (e *Entry) End(ctx context.Context, store provider.Keeper, now provider.Time, failed error) error {
	e.Outcome, e.EndedAt = Done, now
	if failed != nil {
		e.Outcome, e.Error = Failed, cut(failed.Error())
	}
	if _, err := e.put(ctx, store, 1); err != nil {
		return fmt.Errorf("writing the outcome into the audit record: %w", err)
	}
	return nil
}

// put writes the record, and returns the time of the storage. Keys are unique, so a conflict is a repeat of the same write.
func (e *Entry) put(ctx context.Context, store provider.Keeper, expect int64) (provider.Time, error) {
	value, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("encoding it: %w", err)
	}
	res, err := store.Record(ctx, provider.RecordRequest{
		Action: provider.RecordPut, Namespace: space, Key: e.Key, Value: value, Expect: expect,
	})
	if errors.Is(err, provider.ErrConflict) {
		res, err = store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: space, Key: e.Key})
	}
	return res.Now, err
}

// maxText bounds the texts of a record, in bytes.
const maxText = 4 << 10

func cut(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "..."
	}
	return text
}

// before returns the beginning of the keys of records that were written at a time. Later times give smaller texts.
func before(t provider.Time) string { return fmt.Sprintf("%016x", uint64(math.MaxInt64-int64(t))) }
