package failure

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/perdure/perdure/internal/history"
)

// undone returns the error of a saga that joins the results of its undo steps to its error. Every failing-th step
// fails; none if that is 0.
func undone(err error, steps, failing int) error {
	for i := range steps {
		var undoErr error
		if failing > 0 && i%failing == 0 {
			undoErr = fmt.Errorf("undo %d: %w", i, errors.New("try again"))
		}
		err = errors.Join(err, undoErr)
	}
	return err
}

// A saga's error keeps its identity, however many steps were undone.
func TestUndoStepsKeepTheIdentity(t *testing.T) {
	s := newSet(t)
	root := New(ErrCancelled, "cancelled: %w", errors.Join(&limitError{Limit: 7}, errDeclined))
	for _, steps := range []int{1, 19, 20, 100, 300} {
		for _, failing := range []int{0, 1, 7} {
			err := undone(fmt.Errorf("booking: %w", root), steps, failing)
			f, got := store(t, s, err)
			limit, ok := errors.AsType[*limitError](got)
			switch {
			case !errors.Is(got, errDeclined) || !errors.Is(got, ErrCancelled) || !IsCancelled(&f):
				t.Errorf("%d steps, every %d. fails: the sentinels are lost", steps, failing)
			case !ok || limit.Limit != 7:
				t.Errorf("%d steps, every %d. fails: the typed error is %v", steps, failing, limit)
			case got.Error() != err.Error():
				t.Errorf("%d steps, every %d. fails: the message is %q", steps, failing, got)
			}
			if again, _ := store(t, s, got); !reflect.DeepEqual(again, f) {
				t.Errorf("%d steps, every %d. fails: changed when stored again", steps, failing)
			}
		}
	}
}

func TestJoinOfOneIsThatError(t *testing.T) {
	s := newSet(t)
	for _, err := range []error{errDeclined, errors.New("plain"), &limitError{Limit: 1}, NonRetryable(errStock), ErrTimeout, errors.Join(errStock, errDeclined)} {
		want := s.Encode(err)
		if got := s.Encode(undone(err, 100, 0)); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: stored as %+v, want %+v", err, got, want)
		}
	}
	_, got := store(t, s, undone(ErrTimeout, 100, 0))
	if got != ErrTimeout { //nolint:errorlint // the value itself
		t.Errorf("the engine's error came back as %#v", got)
	}
}

// The mark is found below as many levels as a tree is searched for.
func TestMarkFarDown(t *testing.T) {
	s := newSet(t)
	f, got := store(t, s, undone(NonRetryable(errStock), 300, 1))
	if !f.NonRetryable || !IsNonRetryable(got) {
		t.Error("the mark is lost")
	}
}

// The verdict of an Is method survives where its error is left out.
func TestClaimsFarDown(t *testing.T) {
	s := newSet(t)
	if _, got := store(t, s, undone(&claimError{}, 50, 1)); !errors.Is(got, errDeclined) {
		t.Error("the claim is lost")
	}
}

type claimError struct{}

func (*claimError) Error() string        { return "claims" }
func (*claimError) Is(target error) bool { return target == errDeclined }

// An endless tree hides nothing that comes before it, and ends.
func TestEndlessTreeIsCut(t *testing.T) {
	s := newSet(t)
	if _, got := store(t, s, undone(errors.Join(errDeclined, &selfError{50}), 50, 1)); !errors.Is(got, errDeclined) {
		t.Error("the sentinel is lost")
	}
}

// Errors that an earlier release cut are read, and stored again, as they are.
func TestOldCutTrees(t *testing.T) {
	s := newSet(t)
	f := history.Failure{Message: "deep (causes left out)"}
	for range maxDepth - 1 {
		f = history.Failure{Message: "deep", Causes: []history.Failure{f, {Type: "stock", Message: "out of stock", Registered: true}}}
	}
	if got := s.Encode(s.Decode(f)); !reflect.DeepEqual(got, f) {
		t.Errorf("got %+v", got)
	}
	joined := history.Failure{Message: "out of stock", Causes: []history.Failure{{Type: "stock", Message: "out of stock", Registered: true}}}
	if got := s.Encode(s.Decode(joined)); !reflect.DeepEqual(got, joined) {
		t.Errorf("got %+v", got)
	}
}
