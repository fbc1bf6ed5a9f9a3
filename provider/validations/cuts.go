package validations

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// A cut is a call to be cut off.
type cut struct {
	call  func(ctx context.Context) error
	after func()                 // between the call and its repeat, if the call failed
	again error                  // the error of a repeat if the call was stored; nil: the repeat succeeds
	done  func()                 // checks that the effect is complete and happened once
	looks func() (stored string) // reads the state, which a call with outcome nothing leaves
}

// cutOff makes the call with ever longer timeouts; the longest ones suffice. prepare makes a new call each time.
func cutOff(t *trial, prepare func() cut) {
	c := prepare()
	began := time.Now()
	t.ok(c.call(t.ctx))
	enough := max(time.Since(began), 200*time.Microsecond)
	c.done()
	const steps = 6
	for n := 1; n <= steps+2; n++ {
		c := prepare()
		before := ""
		if c.looks != nil {
			before = c.looks()
		}
		ctx, cancel := context.WithTimeout(t.ctx, enough*time.Duration(n)/steps)
		err := c.call(ctx)
		cancel()
		if err != nil {
			repeatCut(t, c, err, before)
		}
		c.done()
	}
}

func repeatCut(t *trial, c cut, err error, before string) {
	outcome := provider.OutcomeOf(err)
	t.checkf(outcome != provider.OutcomeHappened, "error %v has outcome happened", err)
	if outcome == provider.OutcomeNothing && c.looks != nil {
		now := c.looks()
		t.checkf(now == before, "error %v has outcome nothing, but the state changed:\nfrom %s\n  to %s", err, before, now)
	}
	if c.after != nil {
		c.after()
	}
	if err := c.call(t.ctx); err != nil && (c.again == nil || !errors.Is(err, c.again)) {
		t.fatalf("the repeat returned error %v, want none", err)
	}
}
