package client

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// A target is the instance that a call names. The key is zero until the ID is resolved.
type target struct {
	id  string
	key provider.UUID
}

// String names the target in errors and logs, by its key if the ID is not known. An ID over the limit is cut.
func (t target) String() string {
	if t.id == "" && !t.key.IsZero() {
		return "instance with key " + t.key.String()
	}
	if len(t.id) > provider.MaxName {
		return "instance " + check.Quote(t.id)
	}
	return fmt.Sprintf("instance %q", t.id)
}

// check refuses an ID that no storage would take.
func (t target) check() error {
	if !t.key.IsZero() {
		return nil
	}
	return checkName("instance ID", t.id)
}

// resolve finds the key of a target named by ID only, so that no repeat of a call reaches a successor with that ID. The status
// is 0 for a target that had its key.
func (s *storage) resolve(ctx context.Context, t target, op string) (target, provider.Status, error) {
	if !t.key.IsZero() {
		return t, 0, nil
	}
	res, err := s.instance(ctx, t, op, false)
	if err != nil {
		return t, 0, err
	}
	return target{id: t.id, key: res.Instance.Key}, res.Instance.Status, nil
}

// instance reads what is stored about a target, by its key if it has one. all adds tasks and key-values to the row.
func (s *storage) instance(ctx context.Context, t target, op string, all bool) (res provider.GetResult, err error) {
	if err := t.check(); err != nil {
		return res, fmt.Errorf("%s: %w", op, err)
	}
	res, err = read(ctx, s, op, s.Get, provider.GetRequest{ID: t.id, Key: t.key, WithTasks: all, WithValues: all})
	if err != nil {
		return res, explain(op, 0, err)
	}
	return res, nil
}
