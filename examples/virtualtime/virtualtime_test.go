package virtualtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/virtualtime"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// start starts a node on a store in memory. Both end with the test. Call it inside the bubble, so that all
// goroutines and timers belong to it.
func start(t *testing.T, post func(context.Context, string) error) *client.Client {
	t.Helper()
	store := memory.New(memory.Options{})
	reg := runtime.NewRegistry()
	mailer := &virtualtime.Mailer{Post: post}
	if err := errors.Join(runtime.AddOrchestration(reg, virtualtime.Invoice), runtime.AddActivity(reg, mailer.Send)); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{DeadlockLimit: runtime.Off})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// t.Context is done here.
		if err := errors.Join(rt.Shutdown(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	c, err := rt.Client(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThreeRemindersInThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var sent []time.Duration
		c := start(t, func(context.Context, string) error {
			sent = append(sent, time.Since(began))
			return nil
		})
		h, err := client.Start(t.Context(), c, virtualtime.Invoice, "17")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(t.Context()); out != "to the lawyer" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		day := 24 * time.Hour
		if want := []time.Duration{day, 2 * day, 3 * day}; !slices.Equal(sent, want) {
			t.Errorf("reminders were sent after %v, want %v", sent, want)
		}
	})
}

func TestPaidAfterADayAndAHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters := 0
		c := start(t, func(context.Context, string) error { letters++; return nil })
		h, err := client.Start(t.Context(), c, virtualtime.Invoice, "17")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(36 * time.Hour) // takes no real time in the bubble
		synctest.Wait()
		if letters != 1 {
			t.Errorf("%d letters after a day and a half, want 1", letters)
		}
		if err := h.Raise(t.Context(), "payment", 4200); err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(t.Context()); out != "paid" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestReminderIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c := start(t, func(context.Context, string) error {
			if tries++; tries <= 100 {
				return errors.New("the post is on strike")
			}
			return nil
		})
		h, err := client.Start(t.Context(), c, virtualtime.Invoice, "17")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(t.Context()); out != "to the lawyer" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if tries != 103 {
			t.Errorf("%d tries, want 103", tries)
		}
	})
}
