package access

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// A Target is the instance that a call names. The key is zero until the ID is resolved.
type Target struct {
	ID  string
	Key provider.UUID
}

// String names the target in errors and logs, by its key if the ID is not known. An ID over the limit is cut.
func (t Target) String() string {
	if t.ID == "" && !t.Key.IsZero() {
		return "instance with key " + t.Key.String()
	}
	if len(t.ID) > provider.MaxName {
		return "instance " + check.Quote(t.ID)
	}
	return fmt.Sprintf("instance %q", t.ID)
}

// Check refuses an ID that no storage would take.
func (t Target) Check() error {
	if !t.Key.IsZero() {
		return nil
	}
	return Name("instance ID", t.ID)
}

// Resolve finds the key of a target named by ID only, so that no repeat of a call reaches a successor with that ID. The status
// is 0 for a target that had its key.
func (s *Store) Resolve(ctx context.Context, t Target, op string) (Target, provider.Status, error) {
	if !t.Key.IsZero() {
		return t, 0, nil
	}
	res, err := s.Instance(ctx, t, op, false)
	if err != nil {
		return t, 0, err
	}
	return Target{ID: t.ID, Key: res.Instance.Key}, res.Instance.Status, nil
}

// Instance reads what is stored about a target, by its key if it has one. all adds tasks and key-values to the row.
func (s *Store) Instance(ctx context.Context, t Target, op string, all bool) (res provider.GetResult, err error) {
	if err := t.Check(); err != nil {
		return res, fmt.Errorf("%s: %w", op, err)
	}
	res, err = Read(ctx, s, op, s.Get, provider.GetRequest{ID: t.ID, Key: t.Key, WithTasks: all, WithValues: all})
	if err != nil {
		return res, Explain(op, 0, err)
	}
	return res, nil
}
