package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// failing calls two activities, and ends with what a function makes of their failures.
func failing(end func(s *replay.Scope, charge, ship error) error) func(s *replay.Scope) replay.Result {
	return func(s *replay.Scope) replay.Result {
		charge, ship := s.Activity(call("charge")), s.Activity(call("ship"))
		var errs []error
		for _, f := range []*replay.Future{charge, ship} {
			_, err := s.Wait(f)
			if err == nil {
				_, err = f.Result()
			}
			errs = append(errs, err)
		}
		f := s.Env().Errors.Encode(end(s, errs[0], errs[1]))
		return replay.Result{Failure: &f, Cancelled: failure.IsCancelled(&f)}
	}
}

var chargeAndShipFail = []history.Body{
	&history.ActivityFailed{Scheduled: 2, Failure: history.Failure{Type: "shop.Declined", Message: "card declined"}},
	&history.ActivityFailed{Scheduled: 3, Failure: history.Failure{Message: "no courier"}},
}

// A close that fails stores what a list shows of the error, in the commit that it makes anyway. No other close does, nor does a store that keeps
// no excerpts get one.
func TestHazard158_AFailingCloseHasAnExcerpt(t *testing.T) {
	t.Parallel()
	declined := func(_ *replay.Scope, charge, _ error) error { return fmt.Errorf("order 7: %w", charge) }
	p := policy()
	p.Faces = true
	d := decide(execution(t, failing(declined), chargeAndShipFail...), p)
	face, err := failure.DecodeFace(d.Request.Excerpt)
	if want := (failure.Face{Text: "order 7: card declined", Type: "shop.Declined", Activity: "charge"}); err != nil || face != want {
		t.Errorf("the excerpt is %+v, %v; want %+v", face, err, want)
	}
	if !strings.HasPrefix(d.Request.FailureGroup, "1-") {
		t.Errorf("the group is %q", d.Request.FailureGroup)
	}
	for name, d := range map[string]*engine.Decision{
		"a store without": decide(execution(t, failing(declined), chargeAndShipFail...), policy()),
		"cancelled": decide(execution(t, failing(func(*replay.Scope, error, error) error { return failure.ErrCancelled }),
			chargeAndShipFail...), p),
		"completed": decide(execution(t, func(*replay.Scope) replay.Result { return replay.Result{Output: []byte("1")} }), p),
		"running":   decide(execution(t, failing(declined)), p),
	} {
		if d.Request.Excerpt != nil || d.Request.FailureGroup != "" {
			t.Errorf("%s: the excerpt is %s, the group %q", name, d.Request.Excerpt, d.Request.FailureGroup)
		}
	}
}

// A stored failure does not name its activity. The execution knows whose failure its code returns, however that wraps it, and after others failed.
func TestHazard159_TheGroupNamesTheActivityThatFailed(t *testing.T) {
	t.Parallel()
	p := policy()
	p.Faces = true
	for _, c := range []struct {
		name, want string
		end        func(s *replay.Scope, charge, ship error) error
	}{
		{"the first", "charge", func(_ *replay.Scope, charge, _ error) error { return charge }},
		{"the second", "ship", func(_ *replay.Scope, _, ship error) error { return ship }},
		{"wrapped", "charge", func(_ *replay.Scope, charge, _ error) error { return fmt.Errorf("paying: %w", charge) }},
		{"only its text", "charge", func(_ *replay.Scope, charge, _ error) error { return fmt.Errorf("paying: %s", charge.Error()) }},
		{"an own error", "", func(*replay.Scope, error, error) error { return failure.ErrInvalid }},
	} {
		d := decide(execution(t, failing(c.end), chargeAndShipFail...), p)
		if face, err := failure.DecodeFace(d.Request.Excerpt); err != nil || face.Activity != c.want {
			t.Errorf("%s: the activity is %q, want %q: %v", c.name, face.Activity, c.want, err)
		}
	}
}
