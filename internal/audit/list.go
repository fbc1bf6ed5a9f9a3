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

const (
	// MaxScan is how many records List looks at in one call.
	MaxScan = 1_000
	// maxSkew is by how much a record may stand away from its time. Releases before ordered records by the clocks of those who acted.
	maxSkew = 24 * time.Hour
)

// List returns at most limit entries that match, newest first. It continues after a cursor, which is "" at the beginning and after
// the last entry. A call looks at MaxScan records at most, so it may return few entries, or none, and a cursor.
func List(ctx context.Context, store provider.Keeper, q *Query, cursor string, limit int) (entries []Entry, next string, err error) {
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Key: cursor, Max: min(limit, provider.MaxPage)}
	if cursor == "" && q.To != 0 {
		scan.Key = before((q.To - 1).Add(maxSkew))
	}
	end := ""
	if q.From != 0 {
		end = before(q.From.Add(-maxSkew) - 1)
	}
	for scanned := 0; scanned < MaxScan; {
		res, err := store.Record(ctx, scan)
		if err != nil {
			return nil, "", fmt.Errorf("reading the audit records: %w", err)
		}
		for i := range res.Records {
			e, err := decode(&res.Records[i])
			if err != nil {
				return nil, "", err
			}
			if end != "" && e.Key >= end {
				return entries, "", nil
			}
			if q.matches(&e) {
				entries = append(entries, e)
			}
			if scan.Key = e.Key; len(entries) == limit {
				return entries, scan.Key, nil
			}
		}
		if scanned += len(res.Records); len(res.Records) < scan.Max {
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
		e.At = r.UpdatedAt // the intent of a release before, which did not know the storage's time yet
	}
	if e.Outcome != "" {
		e.EndedAt = r.UpdatedAt
	}
	return e, nil
}

func (q *Query) matches(e *Entry) bool {
	return (q.Principal == "" || q.Principal == e.Principal) && (q.Act == "" || q.Act == e.Act) &&
		(q.Instance == "" || q.Instance == e.Instance) && (q.Of.IsZero() || q.Of == e.Of) &&
		(q.From == 0 || e.At >= q.From) && (q.To == 0 || e.At < q.To)
}

// Old returns at most limit records of acts that are older than an age by the storage's clock, for Remove.
func Old(ctx context.Context, store provider.Keeper, age time.Duration, limit int) (old []provider.Record, err error) {
	now, err := storeTime(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("pruning the audit records: %w", err)
	}
	cut := now.Add(-age)
	scan := provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Key: before(cut), Max: min(limit, provider.MaxPage)}
	for {
		res, err := store.Record(ctx, scan)
		if err != nil {
			return nil, fmt.Errorf("pruning the audit records: %w", err)
		}
		for i := range res.Records {
			// A release before put an act of a clock that was behind among older ones. One that cannot be read has its place as its time.
			if e, err := decode(&res.Records[i]); err == nil && e.At > cut {
				continue
			}
			if old = append(old, res.Records[i]); len(old) == limit {
				return old, nil
			}
		}
		if len(res.Records) < scan.Max {
			return old, nil
		}
		scan.Key = res.Records[len(res.Records)-1].Key
	}
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
