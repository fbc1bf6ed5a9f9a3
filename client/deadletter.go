package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// deadLettersPage is how many dead letters are read at once: each may have a payload of the maximum size.
const deadLettersPage = 20

// DeadLetter is a message that its instance did not take before it ended, or an activity that was lost to crashes too often.
// Times are UTC by the storage's clock.
type DeadLetter struct {
	ID          int64           `json:"id"`
	Kind        string          `json:"kind"`           // such as "EventReceived"; "ActivityScheduled" of an activity
	Name        string          `json:"name,omitempty"` // of the event or activity
	Instance    string          `json:"instance"`
	InstanceKey provider.UUID   `json:"instanceKey"`
	Execution   int64           `json:"execution,omitempty"` // its addressee; 0: any
	EventID     int64           `json:"eventId,omitempty"`   // of the command that it is the result of, or that scheduled the activity
	Queue       string          `json:"queue,omitempty"`     // of an activity
	Payload     json.RawMessage `json:"payload,omitempty"`   // of the event, or the input of the activity
	Reason      string          `json:"reason"`
	At          time.Time       `json:"at"`
	Unreadable  string          `json:"unreadable,omitempty"` // why Name and Payload cannot be shown
}

// DeadLetters ranges over the dead letters of the instance that the ID names now, or of all instances with "", the oldest
// first. It ends after the first error. It reads page by page, so that a loop may stop early.
func (c *Client) DeadLetters(ctx context.Context, instance string) iter.Seq2[DeadLetter, error] {
	return c.deadLetters(ctx, access.Target{ID: instance})
}

// deadLetters ranges over the dead letters of an instance, or of all instances with the zero target.
func (c *Client) deadLetters(ctx context.Context, of access.Target) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		const op = "listing dead letters"
		req := provider.DeadLettersRequest{Max: deadLettersPage}
		err := c.usable(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", op, err)
		} else if of != (access.Target{}) {
			of, _, err = c.store.Resolve(ctx, of, fmt.Sprintf("%s of %s", op, of))
			req.Key = of.Key
		}
		for more := true; more; {
			var page []provider.DeadLetter
			if err == nil {
				page, err = c.store.deadLetters(ctx, op, req)
			}
			if err != nil {
				yield(DeadLetter{}, err)
				return
			}
			for i := range page {
				req.Cursor = page[i].ID
				if !yield(describeDeadLetter(&page[i]), nil) {
					return
				}
			}
			more = len(page) == deadLettersPage
		}
	}
}

func (s *storage) deadLetters(ctx context.Context, op string, req provider.DeadLettersRequest) ([]provider.DeadLetter, error) {
	res, err := access.Read(ctx, s.Store, op, s.DeadLetters, req)
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	return res.Letters, nil
}

// describeDeadLetter turns a stored dead letter into a DeadLetter.
func describeDeadLetter(l *provider.DeadLetter) DeadLetter {
	d := DeadLetter{
		ID: l.ID, Kind: history.Kind(l.Kind).String(), Name: l.Name, Instance: l.InstanceID, InstanceKey: l.Key, Execution: l.Execution,
		EventID: l.EventID, Queue: l.Queue, Reason: l.Reason, At: l.At.Std(),
	}
	if l.Task {
		d.Kind = history.KindActivityScheduled.String()
	}
	stored, err := history.Decode(0, l.Payload)
	if err != nil {
		d.Unreadable = err.Error()
		return d
	}
	e := describeEvent(stored)
	d.Kind, d.Payload = e.Kind, e.Input
	if d.Payload == nil {
		d.Payload = e.Output
	}
	if d.Name == "" {
		d.Name = e.Name
	}
	return d
}

// RedriveDeadLetter puts a dead letter back where it came from. A message returns to the inbox of its instance. An
// activity returns to its queue, with its first attempt and without a deadline. That is possible while the instance
// runs and, for an activity, still runs the execution that scheduled it. Otherwise the letter stays, and the error is
// ErrEnded. It is ErrExists if the activity is pending again, and ErrNotFound for an unknown letter.
//
// A redriven activity runs, but its call may have ended: with orchestration.ErrPoisoned when the activity was buried.
// Then the code has continued, perhaps compensated, and the new result is dropped.
func (c *Client) RedriveDeadLetter(ctx context.Context, id int64) error {
	return c.changeDeadLetter(ctx, fmt.Sprintf("redriving dead letter %d", id), provider.DeadLettersRedrive, id)
}

// DropDeadLetter deletes a dead letter for good. An unknown letter is ErrNotFound.
func (c *Client) DropDeadLetter(ctx context.Context, id int64) error {
	return c.changeDeadLetter(ctx, fmt.Sprintf("dropping dead letter %d", id), provider.DeadLettersDiscard, id)
}

// changeDeadLetter redrives or drops a dead letter.
func (c *Client) changeDeadLetter(ctx context.Context, op string, action provider.DeadLetterAction, id int64) error {
	err := c.usable(ctx)
	if err == nil && id < 1 {
		err = fmt.Errorf("%w: the ID is %d: give that of a dead letter, 1 or more", ErrInvalid, id)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(ActRedrive), Op: op, Other: fmt.Sprintf("dead letter %d", id)}
	if action == provider.DeadLettersDiscard {
		a.Kind = string(ActDiscard)
	}
	return c.caller.Perform(ctx, &a, func(ctx context.Context) error { return c.changeDeadLetterNow(ctx, op, action, id) })
}

func (c *Client) changeDeadLetterNow(ctx context.Context, op string, action provider.DeadLetterAction, id int64) error {
	req := provider.DeadLettersRequest{Action: action, IDs: []int64{id}}
	var res provider.DeadLettersResult
	tries := 0
	doubtful, err := c.store.Write(ctx, op, func(ctx context.Context) (err error) {
		tries++
		res, err = c.store.DeadLetters(ctx, req)
		return err
	})
	if err != nil {
		return access.Doubt(access.Explain(op, 0, err), doubtful, "list the dead letters")
	}
	if res.Done > 0 {
		return nil
	}
	l, err := c.store.deadLetter(ctx, op, id)
	switch {
	case err != nil:
		return err
	case l == nil && tries > 1:
		return nil // an earlier try did it, and its result was lost
	case l == nil:
		return fmt.Errorf("%s: %w: there is no such letter; it was redriven, dropped or deleted with its instance", op, ErrNotFound)
	}
	return c.store.whyDeadLetterStays(ctx, op, l)
}

// deadLetter reads one dead letter; nil if there is none with that ID.
func (s *storage) deadLetter(ctx context.Context, op string, id int64) (*provider.DeadLetter, error) {
	page, err := s.deadLetters(ctx, op, provider.DeadLettersRequest{Cursor: id - 1, Max: 1})
	if err != nil || len(page) == 0 || page[0].ID != id {
		return nil, err
	}
	return &page[0], nil
}

// whyDeadLetterStays returns why a letter could not be redriven.
func (s *storage) whyDeadLetterStays(ctx context.Context, op string, l *provider.DeadLetter) error {
	t := access.Target{ID: l.InstanceID, Key: l.Key}
	res, err := s.Instance(ctx, t, op, false)
	switch i := &res.Instance; {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%s: %w: %s was deleted; drop the letter", op, ErrNotFound, t)
	case err != nil:
		return err
	case i.Status.Ended():
		return fmt.Errorf("%s: %w (%s): %s takes nothing back; raise the event to another instance and drop the letter", op, ErrEnded, i.Status, t)
	case l.Task && l.Execution != i.Execution:
		return fmt.Errorf("%s: execution %d of %s, which asked for the activity, is over: %w; drop the letter", op, l.Execution, t, ErrEnded)
	default:
		return fmt.Errorf("%s: activity %d of %s is pending again: %w; drop the letter", op, l.EventID, t, ErrExists)
	}
}
