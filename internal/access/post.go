package access

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

// Post puts a message into an inbox. The orchestration drops a message that repeats a request ID.
// again says how a caller may make sure of an unknown outcome. The target gets the key that its ID names.
func (s *Store) Post(ctx context.Context, to *Target, op, again string, m provider.NewMessage) error {
	t, status, err := s.Resolve(ctx, *to, op)
	if err != nil {
		return err
	}
	*to = t
	if status.Ended() {
		return Explain(op, status, provider.ErrEnded)
	}
	req := provider.SendRequest{Key: t.Key, Message: m}
	doubtful, err := s.Write(ctx, op, func(ctx context.Context) error {
		_, err := s.Send(ctx, req)
		if provider.OutcomeOf(err) == provider.OutcomeHappened {
			return nil
		}
		return err
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, provider.ErrEnded) {
		// How it ended is worth a call, but no failure of its own.
		if res, lost := s.Instance(ctx, t, op, false); lost == nil {
			status = res.Instance.Status
		}
	}
	return Doubt(Explain(op, status, err), doubtful, again)
}
