package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// deadLettersPage is how many dead letters are read at once: each may have a payload of the maximum size.
const deadLettersPage = 20

const listingDeadLetters = "listing dead letters"

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

// DeadLetterFilter selects dead letters. Zero fields do not restrict.
type DeadLetterFilter struct {
	Instance string        // the ID; an instance that has it now
	Key      provider.UUID // of an instance; it counts if both are given, and the zero key selects all instances
}

// DeadLetters ranges over the dead letters that match, the oldest first. It ends after the first error. It reads page by page, so that a
// loop may stop early.
func (o *Operator) DeadLetters(ctx context.Context, f DeadLetterFilter) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		req, _, err := o.deadLettersRequest(ctx, &f, client.Page{})
		req.Max = deadLettersPage
		for more := true; more; {
			var page []provider.DeadLetter
			if err == nil {
				page, err = o.caller.Store.ListDeadLetters(ctx, listingDeadLetters, req)
			}
			if err != nil {
				yield(DeadLetter{}, err)
				return
			}
			for i := range page {
				req.Cursor = page[i].ID
				if !yield(o.describeDeadLetter(&page[i]), nil) {
					return
				}
			}
			more = len(page) == deadLettersPage
		}
	}
}

// describeDeadLetter turns a stored dead letter into a DeadLetter.
func (o *Operator) describeDeadLetter(l *provider.DeadLetter) DeadLetter {
	d := DeadLetter{
		ID: l.ID, Kind: history.Kind(l.Kind).String(), Name: l.Name, Instance: l.InstanceID, InstanceKey: l.Key, Execution: l.Execution,
		EventID: l.EventID, Queue: l.Queue, Reason: l.Reason, At: l.At.Std(),
	}
	if l.Task {
		d.Kind = history.KindActivityScheduled.String()
	}
	m, err := o.caller.Message(l.Payload)
	if err != nil {
		d.Unreadable = err.Error()
		return d
	}
	d.Kind, d.Name, d.Payload = m.Kind, cmp.Or(d.Name, m.Name), m.Payload
	return d
}

// RedriveDeadLetter puts a dead letter back where it came from. A message returns to the inbox of its instance. An
// activity returns to its queue, with its first attempt and without a deadline. That is possible while the instance
// runs and, for an activity, still runs the execution that scheduled it. Otherwise the letter stays, and the error is
// client.ErrEnded. It is client.ErrExists if the activity is pending again, and client.ErrNotFound for an unknown letter.
//
// A redriven activity runs, but its call may have ended: with orchestration.ErrPoisoned when the activity was buried.
// Then the code has continued, perhaps compensated, and the new result is dropped.
func (o *Operator) RedriveDeadLetter(ctx context.Context, id int64) error {
	return o.changeDeadLetter(ctx, fmt.Sprintf("redriving dead letter %d", id), provider.DeadLettersRedrive, id)
}

// DropDeadLetter deletes a dead letter for good. An unknown letter is client.ErrNotFound.
func (o *Operator) DropDeadLetter(ctx context.Context, id int64) error {
	return o.changeDeadLetter(ctx, fmt.Sprintf("dropping dead letter %d", id), provider.DeadLettersDiscard, id)
}

// changeDeadLetter redrives or drops a dead letter.
func (o *Operator) changeDeadLetter(ctx context.Context, op string, action provider.DeadLetterAction, id int64) error {
	err := o.usable(ctx)
	if err == nil && id < 1 {
		err = fmt.Errorf("%w: the ID is %d: give that of a dead letter, 1 or more", client.ErrInvalid, id)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(client.ActRedrive), Op: op, Other: fmt.Sprintf("dead letter %d", id)}
	if action == provider.DeadLettersDiscard {
		a.Kind = string(client.ActDiscard)
	}
	return o.caller.Perform(ctx, &a, func(ctx context.Context) error { return o.caller.Store.ChangeDeadLetter(ctx, op, action, id) })
}

// deadLettersRequest checks a filter and a page, and returns the request to the storage and the size of the page.
func (o *Operator) deadLettersRequest(ctx context.Context, f *DeadLetterFilter, page client.Page) (req provider.DeadLettersRequest, size int, err error) {
	if err = o.usable(ctx); err == nil {
		req, size, err = f.stored(page)
	}
	if err != nil {
		return req, 0, fmt.Errorf("%s: %w", listingDeadLetters, err)
	}
	if f.Instance == "" || !req.Key.IsZero() {
		return req, size, nil
	}
	of := access.Target{ID: f.Instance}
	of, _, err = o.caller.Store.Resolve(ctx, of, fmt.Sprintf("%s of %s", listingDeadLetters, of))
	req.Key = of.Key
	return req, size, err
}

// stored checks the filter and the page, and returns the request to the storage.
func (f *DeadLetterFilter) stored(page client.Page) (req provider.DeadLettersRequest, size int, err error) {
	if page.Size < 0 || page.Size > provider.MaxPage {
		return req, 0, fmt.Errorf("%w: page size %d: give 1 to %d, or 0 for %d", client.ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
	}
	size = cmp.Or(page.Size, access.DefaultPage)
	req.Key = f.Key
	if err := access.Invalid(check.OptionalName("filter Instance", f.Instance)); err != nil {
		return req, 0, err
	}
	if page.Cursor == "" {
		return req, size, nil
	}
	if req.Cursor, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil || req.Cursor < 1 {
		return req, 0, fmt.Errorf("%w: page cursor %s is none of dead letters: give the Cursor of the page before, or \"\" for the first",
			client.ErrInvalid, check.Quote(page.Cursor))
	}
	return req, size, nil
}
