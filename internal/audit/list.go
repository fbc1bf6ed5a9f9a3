package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// Query chooses entries. Zero fields do not restrict.
type Query struct {
	Principal string
	Act       string
	Instance  string        // the ID
	Of        provider.UUID // the key of an instance
	From      provider.Time // inclusive
	To        provider.Time // exclusive
}

// MaxLook is how many records List looks at in one call.
const MaxLook = 1_000

// List returns at most limit entries that match, newest first. It continues after a cursor, which is "" at the beginning and after
// the last entry. A call looks at MaxLook records at most, so it may return few entries, or none, and a cursor.
func List(ctx context.Context, store provider.Keeper, q *Query, cursor string, limit int) (entries []Entry, next string, err error) {
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Key: cursor, Max: min(limit, provider.MaxPage)}
	if cursor == "" && q.To != 0 {
		scan.Key = before(q.To - 1)
	}
	for looked := 0; looked < MaxLook; {
		res, err := store.Record(ctx, scan)
		if err != nil {
			return nil, "", fmt.Errorf("reading the audit records: %w", err)
		}
		for i := range res.Records {
			e, err := decode(&res.Records[i])
			if err != nil {
				return nil, "", err
			}
			if q.From != 0 && e.At < q.From {
				return entries, "", nil
			}
			if q.matches(&e) {
				entries = append(entries, e)
			}
			if scan.Key = e.Key; len(entries) == limit {
				return entries, scan.Key, nil
			}
		}
		if looked += len(res.Records); len(res.Records) < scan.Max {
			return entries, "", nil
		}
	}
	return entries, scan.Key, nil
}

func decode(r *provider.Record) (e Entry, err error) {
	if err := json.Unmarshal(r.Value, &e); err != nil {
		return e, fmt.Errorf("reading the audit record %q: %w", r.Key, err)
	}
	if e.Key = r.Key; e.At == 0 {
		e.At = r.UpdatedAt // the intent does not have the storage's time yet
	}
	return e, nil
}

func (q *Query) matches(e *Entry) bool {
	return (q.Principal == "" || q.Principal == e.Principal) && (q.Act == "" || q.Act == e.Act) &&
		(q.Instance == "" || q.Instance == e.Instance) && (q.Of.IsZero() || q.Of == e.Of) &&
		(q.From == 0 || e.At >= q.From) && (q.To == 0 || e.At < q.To)
}

// Old returns at most limit records that are older than an age by the storage's clock, for Remove.
func Old(ctx context.Context, store provider.Keeper, age time.Duration, limit int) ([]provider.Record, error) {
	first, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Max: 1})
	if err != nil {
		return nil, fmt.Errorf("pruning the audit records: %w", err)
	}
	scan := provider.RecordRequest{
		Action: provider.RecordScan, Namespace: space, Key: before(first.Now.Add(-age)), Max: min(limit, provider.MaxPage),
	}
	res, err := store.Record(ctx, scan)
	if err != nil {
		return nil, fmt.Errorf("pruning the audit records: %w", err)
	}
	return res.Records, nil
}

// Remove removes records.
func Remove(ctx context.Context, store provider.Keeper, records []provider.Record) error {
	for _, r := range records {
		_, err := store.Record(ctx, provider.RecordRequest{
			Action: provider.RecordDelete, Namespace: space, Key: r.Key, Expect: r.Version,
		})
		if err != nil {
			return fmt.Errorf("pruning the audit records: %w", err)
		}
	}
	return nil
}

// Gone returns how many of the records with some keys are not there any more.
func Gone(ctx context.Context, store provider.Keeper, keys []string) (gone int64, err error) {
	for _, key := range keys {
		_, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: space, Key: key})
		switch {
		case errors.Is(err, provider.ErrNotFound):
			gone++
		case err != nil:
			return gone, fmt.Errorf("looking for audit records: %w", err)
		}
	}
	return gone, nil
}
