package virtualtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/virtualtime"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// mailer names the activities. No test posts a letter.
var mailer *virtualtime.Mailer

func TestThreeRemindersInThreeDays(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		letters := orchestrationtest.Replace(e, mailer.Send, nil)
		h := orchestrationtest.Start(e, virtualtime.Invoice, "17")
		if out, err := h.Wait(e.Context()); out != "to the lawyer" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		var sent []time.Duration
		for _, letter := range letters.Calls() {
			sent = append(sent, letter.At.Sub(began))
		}
		day := 24 * time.Hour
		if want := []time.Duration{day, 2 * day, 3 * day}; !slices.Equal(sent, want) {
			t.Errorf("reminders were sent after %v, want %v", sent, want)
		}
	})
}

func TestPaidAfterADayAndAHalf(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, mailer.Send, nil, orchestrationtest.Times(1))
		h := orchestrationtest.Start(e, virtualtime.Invoice, "17")
		e.After(36*time.Hour, func() error { return h.Raise(e.Context(), "payment", 4200) })
		if out, err := h.Wait(e.Context()); out != "paid" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestReminderIsTriedAgain(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		strike := errors.New("the post is on strike")
		letters := orchestrationtest.Replace(e, mailer.Send, nil, orchestrationtest.FailFirst(100, strike), orchestrationtest.Times(103))
		h := orchestrationtest.Start(e, virtualtime.Invoice, "17")
		e.After(50*time.Hour, func() error { e.Restart(); return nil })
		if out, err := h.Wait(e.Context()); out != "to the lawyer" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if first := letters.Calls()[0]; first.Attempt != 1 || first.In != "please pay 17" || !errors.Is(first.Err, strike) {
			t.Errorf("%+v", first)
		}
	})
}

// A node that crashes while a letter is posted may have posted it. The letter is sent again when the lease of the node has expired.
func TestCrashWhileALetterIsPosted(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		crashed := false
		letters := orchestrationtest.Replace(e, mailer.Send, func(context.Context, string) (orchestration.None, error) {
			if !crashed {
				crashed = true
				e.Kill()
			}
			return orchestration.None{}, nil
		})
		if out, err := orchestrationtest.Start(e, virtualtime.Invoice, "17").Wait(e.Context()); out != "to the lawyer" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		calls := letters.Calls()
		if len(calls) != 4 || !calls[0].Lost || calls[1].At.Sub(calls[0].At) > time.Minute {
			t.Errorf("%+v", calls)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Lease = 30 * time.Second }))
}

// The activity itself is an ordinary function.
func TestSendPosts(t *testing.T) {
	var posted []string
	m := &virtualtime.Mailer{Post: func(_ context.Context, text string) error {
		posted = append(posted, text)
		return nil
	}}
	if _, err := m.Send(t.Context(), "please pay 17"); err != nil || !slices.Equal(posted, []string{"please pay 17"}) {
		t.Errorf("%q, %v", posted, err)
	}
}
