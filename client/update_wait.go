package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Errors of updates. Compare with errors.Is. ErrRejected, ErrUnknownUpdate, ErrPanicked, ErrClosing and ErrEnded mean that
// the handler has not run: nothing of it is stored, and no earlier call with the ID has made it run. The instance remembers its last 10,000
// IDs for that.
var (
	// ErrRejected: the validator has refused the update, or its input could not be decoded. errors.Is and errors.As find the reason.
	ErrRejected = errors.New("the update was rejected")
	// ErrUnknownUpdate: the orchestration has no handler of that name. The error is an *UnknownUpdateError, which has the names
	// that there are.
	ErrUnknownUpdate = errors.New("unknown update")
	// ErrPanicked: the validator or the handler panicked as it began. Nothing of it is stored.
	ErrPanicked = errors.New("the update panicked")
	// ErrClosing: the orchestration's function has returned, and the instance takes nothing new.
	ErrClosing = errors.New("the instance is closing")
	// ErrUpdateFailed: the handler returned an error, which errors.Is and errors.As find.
	ErrUpdateFailed = errors.New("the update failed")
	// ErrAbandoned: the instance ended, or was terminated, while the handler ran or waited for its turn. The handler may have had effects.
	ErrAbandoned = errors.New("the instance ended before the update")
	// ErrNotCarried: the handler has run, and its output comes with the error. But the code had made the input of the next execution
	// before the handler ended, so that execution lacks what the handler has changed. See orchestration.ContinueAsNewAfterHandlers.
	ErrNotCarried = errors.New("the next execution lacks the changes of the update")
	// ErrOutcomeGone: the instance has taken the update, and does not keep its outcome any more.
	ErrOutcomeGone = errors.New("the outcome of the update is not kept any more")
	// ErrDiscarded: a reset took the outcome back, and the handler does not run again for this ID. Send the update with another ID if it is still
	// wanted.
	ErrDiscarded = errors.New("a reset has taken the update back")
	// ErrUpdateDiffers: the ID is that of an update with another name or input.
	ErrUpdateDiffers = errors.New("another update has this ID")
	// ErrNotFinished: the store is used by nodes of an older release, which cannot handle updates.
	ErrNotFinished = errors.New("the upgrade of the store is not finished")
)

// UnknownUpdateError names the updates that an instance handles. It is ErrUnknownUpdate.
type UnknownUpdateError struct {
	Update string
	ID     string   // of the instance
	Known  []string // sorted, at most 100
}

// Error implements error.
func (e *UnknownUpdateError) Error() string {
	known := "none"
	if len(e.Known) > 0 {
		known = strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("instance %q has no update %q: it has %s; register a handler with orchestration.HandleUpdate before the code first waits",
		e.ID, e.Update, known)
}

// Is makes errors.Is(err, ErrUnknownUpdate) true.
func (e *UnknownUpdateError) Is(target error) bool { return target == ErrUnknownUpdate }

// updated waits until an update has an outcome, or is accepted if that is enough, in slices.
func (c *Client) updated(ctx context.Context, t access.Target, u *sentUpdate, o waitOptions) ([]byte, error) {
	op := fmt.Sprintf("waiting for update %q of %s", u.id, t)
	req := provider.GetRequest{Key: t.Key, Value: history.UpdateKey(u.id), WaitValue: true, WaitBlocked: o.blocked, Wait: waitSlice}
	for {
		var res provider.GetResult
		_, err := c.store.Repeat(ctx, op, func(ctx context.Context) (err error) {
			ctx, cancel := blocking(ctx)
			defer cancel()
			res, err = c.store.Get(ctx, req)
			return err
		})
		if err != nil {
			return nil, access.Explain(op, 0, err)
		}
		var s history.UpdateState
		if res.Value != nil {
			s, err = history.DecodeUpdateState(res.Value.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: its state cannot be read: %w", op, err)
			}
			if u.name != "" && !u.is(&s) {
				return nil, fmt.Errorf("%s: %w: it has the name %q or another input; use another ID", op, ErrUpdateDiffers, s.Name)
			}
			if ended := res.Instance.Status.Ended(); s.Over() || o.accepted && s.Outcome == history.UpdateRunning && !ended {
				return c.updateOutcome(t, op, &s)
			}
			req.OldValue = res.Value.Value
		}
		if res.Value == nil && req.OldValue != nil {
			return nil, fmt.Errorf("%s: %w", op, ErrOutcomeGone)
		}
		switch i := &res.Instance; {
		case i.Status.Ended():
			return nil, c.errWithoutOutcome(ctx, i, u.id, op, &s)
		case i.Deleting && c.store.moved(ctx, t):
			return nil, access.Explain(op, 0, ErrMoved)
		case o.blocked && i.Blocked != nil:
			return nil, &BlockedError{ID: i.ID, Key: i.Key, Blocked: *blocked(i.Blocked)}
		}
	}
}

// is reports whether the state is of the update that was sent. Inputs are equal if they decode to the same.
func (u *sentUpdate) is(s *history.UpdateState) bool {
	if s.Outcome == history.UpdateGone || s.Outcome == history.UpdateDiscarded {
		return true // there is nothing left to compare
	}
	if s.Name != u.name {
		return false
	}
	if len(s.Sum) > 0 {
		sum := sha256.Sum256([]byte(u.input))
		return bytes.Equal(sum[:], s.Sum)
	}
	if string(s.Input) == u.input {
		return true
	}
	stored, err := anyJSON(s.Input)
	if err != nil {
		return false
	}
	sent, err := anyJSON([]byte(u.input))
	return err == nil && reflect.DeepEqual(stored, sent)
}

// anyJSON decodes JSON, and keeps each digit of a number.
func anyJSON(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("comparing inputs: %w", err)
	}
	return v, nil
}

// outputOf returns the output that a handler has returned.
func outputOf(s *history.UpdateState) []byte {
	if s.Output == nil {
		return []byte("null")
	}
	return s.Output
}

// updateOutcome returns the encoded output of an update, or the error that it ended with, or both. The output is nil if the update goes on.
func (c *Client) updateOutcome(t access.Target, op string, s *history.UpdateState) ([]byte, error) {
	cause := errors.New("no reason is stored")
	if s.Failure != nil {
		cause = c.errors.Decode(*s.Failure)
	}
	switch s.Outcome {
	case history.UpdateRunning:
		return nil, nil
	case history.UpdateDone:
		return outputOf(s), nil
	case history.UpdateNotCarried:
		return outputOf(s), fmt.Errorf("%s: %w", op, ErrNotCarried)
	case history.UpdateUnknown:
		unknown := &UnknownUpdateError{Update: s.Name, ID: t.ID}
		for _, name := range s.Names {
			unknown.Known = append(unknown.Known, string(name))
		}
		return nil, unknown
	case history.UpdateEnded:
		return nil, notTaken(op, 0)
	}
	kinds := map[int64]error{
		history.UpdateClosing: ErrClosing, history.UpdateAbandoned: ErrAbandoned, history.UpdateGone: ErrOutcomeGone,
		history.UpdateDiscarded: ErrDiscarded,
		history.UpdateFailed:    ErrUpdateFailed, history.UpdateRefused: ErrRejected, history.UpdatePanicked: ErrPanicked,
	}
	kind := kinds[s.Outcome]
	switch {
	case kind == nil:
		return nil, fmt.Errorf("%s: it has the outcome %d, which is of a newer release: upgrade the client", op, s.Outcome)
	case s.Failure == nil:
		return nil, fmt.Errorf("%s: %w", op, kind)
	default:
		return nil, fmt.Errorf("%s: %w: %w", op, kind, cause)
	}
}
