package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

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

// Begin writes the intent. The storage's time orders the record among others: the clocks of those who act differ. A repeat after an unknown
// outcome succeeds.
func (e *Entry) Begin(ctx context.Context, store provider.Keeper) error {
	if e.Key == "" {
		now, err := storeTime(ctx, store)
		if err != nil {
			return fmt.Errorf("writing the audit record: %w", err)
		}
		e.At, e.Key = now, before(now)+"-"+uuid.NewString()
	}
	if err := e.put(ctx, store, 0); err != nil {
		return fmt.Errorf("writing the audit record: %w", err)
	}
	return nil
}

// storeTime returns the storage's time.
func storeTime(ctx context.Context, store provider.Keeper) (provider.Time, error) {
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Max: 1})
	if err != nil {
		return 0, fmt.Errorf("asking for the storage's time: %w", err)
	}
	return res.Now, nil
}

// End writes the outcome of an entry that Begin has written. took is how long the act took, failed is its error.
func (e *Entry) End(ctx context.Context, store provider.Keeper, took time.Duration, failed error) error {
	e.Outcome, e.EndedAt = Done, e.At.Add(took) // for older releases: this one takes the time of the record
	if failed != nil {
		e.Outcome, e.Error = Failed, cut(failed.Error())
	}
	if err := e.put(ctx, store, 1); err != nil {
		return fmt.Errorf("writing the outcome into the audit record: %w", err)
	}
	return nil
}

// put writes the record. Keys are unique, so a conflict is a repeat of the same write, if the record is there.
func (e *Entry) put(ctx context.Context, store provider.Keeper, expect int64) error {
	value, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	_, err = store.Record(ctx, provider.RecordRequest{
		Action: provider.RecordPut, Namespace: space, Key: e.Key, Value: value, Expect: expect,
	})
	if errors.Is(err, provider.ErrConflict) {
		_, err = store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: space, Key: e.Key})
	}
	return err
}

// maxText bounds the texts of a record, in bytes.
const maxText = 4 << 10

func cut(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// before returns the beginning of the keys of records that were written at a time. Later times give smaller texts.
func before(t provider.Time) string { return fmt.Sprintf("%016x", uint64(math.MaxInt64-int64(t))) }
