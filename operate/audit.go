package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// AuditEntry is one act of a principal. Times are UTC.
type AuditEntry struct {
	At        time.Time     `json:"at"` // when it began, by the storage's clock
	Principal string        `json:"principal"`
	Role      string        `json:"role"` // that it had
	Act       client.Act    `json:"act"`
	Instance  string        `json:"instance,omitempty"`
	Key       provider.UUID `json:"key,omitzero"`    // of the instance
	Other     string        `json:"other,omitempty"` // what the act was about if it was about no instance
	Detail    string        `json:"detail,omitempty"`
	RequestID string        `json:"requestId,omitempty"`
	Outcome   string        `json:"outcome"`          // done, failed, or unknown: it was interrupted, or is in progress
	Error     string        `json:"error,omitempty"`  // when failed
	EndedAt   time.Time     `json:"endedAt,omitzero"` // by the storage's clock
}

// AuditFilter selects acts. Zero fields do not restrict; all others must match.
type AuditFilter struct {
	Principal string
	Act       client.Act
	Instance  string        // the ID
	Key       provider.UUID // of an instance
	After     time.Time     // inclusive, by the storage's clock
	Before    time.Time     // exclusive
}

// AuditPage is a page of the audit. Cursor is "" on the last one.
type AuditPage struct {
	Items  []AuditEntry `json:"items"`
	Cursor string       `json:"cursor,omitempty"`
}

// Audit returns a page of the acts that match, newest first. A page looks at a bounded number of acts, so it may have few items, or none,
// although others follow. A store without provider.Keeper has no audit: the error wraps errors.ErrUnsupported.
func (o *Operator) Audit(ctx context.Context, f AuditFilter, page client.Page) (AuditPage, error) {
	const op = "reading the audit"
	if err := o.usable(ctx); err != nil {
		return AuditPage{}, fmt.Errorf("%s: %w", op, err)
	}
	q, size, err := f.stored(page)
	if err != nil {
		return AuditPage{}, fmt.Errorf("%s: %w", op, err)
	}
	var found AuditPage
	_, err = o.caller.Store.Write(ctx, op, func(ctx context.Context) error {
		entries, next, err := audit.List(ctx, o.caller.Store, q, page.Cursor, size)
		found = AuditPage{Items: make([]AuditEntry, 0, len(entries)), Cursor: next}
		for i := range entries {
			found.Items = append(found.Items, describeAct(&entries[i]))
		}
		return err
	})
	if err != nil {
		return AuditPage{}, access.Explain(op, 0, err)
	}
	return found, nil
}

// stored checks the filter and the page, and returns the filter in the form of the storage.
func (f *AuditFilter) stored(page client.Page) (q *audit.Query, size int, err error) {
	q = &audit.Query{Principal: f.Principal, Act: string(f.Act), Instance: f.Instance, Of: f.Key}
	if every := (client.Principal{Role: client.RoleAdmin}); f.Act != "" && !every.May(f.Act) {
		return nil, 0, fmt.Errorf("%w: there is no act %s: give one of the Act constants", client.ErrInvalid, check.Quote(string(f.Act)))
	}
	if page.Size < 0 || page.Size > provider.MaxPage {
		return nil, 0, fmt.Errorf("%w: page size %d: give 1 to %d, or 0 for %d", client.ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
	}
	if size = page.Size; size == 0 {
		size = access.DefaultPage
	}
	for _, err := range []error{
		access.Invalid(check.OptionalName("page cursor", page.Cursor)),
		access.TimeBound(&q.From, "After", f.After),
		access.TimeBound(&q.To, "Before", f.Before),
	} {
		if err != nil {
			return nil, 0, err
		}
	}
	return q, size, nil
}

func describeAct(e *audit.Entry) AuditEntry {
	a := AuditEntry{
		At: e.At.Std(), Principal: e.Principal, Role: e.Role, Act: client.Act(e.Act), Instance: e.Instance, Key: e.Of, Other: e.Other,
		Detail: e.Detail, RequestID: e.RequestID, Outcome: e.Outcome, Error: e.Error, EndedAt: e.EndedAt.Std(),
	}
	if a.Outcome == "" {
		a.Outcome = "unknown"
	}
	return a
}
