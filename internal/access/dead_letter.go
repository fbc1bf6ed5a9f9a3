package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// ListDeadLetters reads a page of dead letters.
func (s *Store) ListDeadLetters(ctx context.Context, op string, req provider.DeadLettersRequest) ([]provider.DeadLetter, error) {
	res, err := Read(ctx, s, op, s.DeadLetters, req)
	if err != nil {
		return nil, Explain(op, 0, err)
	}
	return res.Letters, nil
}

// ChangeDeadLetter redrives or drops a dead letter. The error of one that stays says why it does.
func (s *Store) ChangeDeadLetter(ctx context.Context, op string, action provider.DeadLetterAction, id int64) error {
	req := provider.DeadLettersRequest{Action: action, IDs: []int64{id}}
	var res provider.DeadLettersResult
	tries := 0
	doubtful, err := s.Write(ctx, op, func(ctx context.Context) (err error) {
		tries++
		res, err = s.DeadLetters(ctx, req)
		return err
	})
	if err != nil {
		return Doubt(Explain(op, 0, err), doubtful, "list the dead letters")
	}
	if res.Done > 0 {
		return nil
	}
	l, err := s.deadLetter(ctx, op, id)
	switch {
	case err != nil:
		return err
	case l == nil && tries > 1:
		return nil // an earlier try did it, and its result was lost
	case l == nil:
		return fmt.Errorf("%s: %w: there is no such letter; it was redriven, dropped or deleted with its instance", op, provider.ErrNotFound)
	}
	return s.whyDeadLetterStays(ctx, op, l)
}

// deadLetter reads one dead letter; nil if there is none with that ID.
func (s *Store) deadLetter(ctx context.Context, op string, id int64) (*provider.DeadLetter, error) {
	page, err := s.ListDeadLetters(ctx, op, provider.DeadLettersRequest{Cursor: id - 1, Max: 1})
	if err != nil || len(page) == 0 || page[0].ID != id {
		return nil, err
	}
	return &page[0], nil
}

// whyDeadLetterStays returns why a letter could not be redriven.
func (s *Store) whyDeadLetterStays(ctx context.Context, op string, l *provider.DeadLetter) error {
	t := Target{ID: l.InstanceID, Key: l.Key}
	res, err := s.Instance(ctx, t, op, false)
	switch i := &res.Instance; {
	case errors.Is(err, provider.ErrNotFound):
		return fmt.Errorf("%s: %w: %s was deleted; drop the letter", op, provider.ErrNotFound, t)
	case err != nil:
		return err
	case i.Status.Ended():
		return fmt.Errorf("%s: %w (%s): %s takes nothing back; raise the event to another instance and drop the letter", op, provider.ErrEnded, i.Status, t)
	case l.Task && l.Execution != i.Execution:
		return fmt.Errorf("%s: execution %d of %s, which asked for the activity, is over: %w; drop the letter", op, l.Execution, t, provider.ErrEnded)
	default:
		return fmt.Errorf("%s: activity %d of %s is pending again: %w; drop the letter", op, l.EventID, t, provider.ErrExists)
	}
}
