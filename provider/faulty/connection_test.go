package faulty_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

func isClosed(err error) bool { return errors.Is(err, provider.ErrClosed) }

func wantFault(t *testing.T, what string, err error, outcome provider.Outcome) {
	t.Helper()
	if provider.OutcomeOf(err) != outcome || !provider.Retryable(err) || !errors.Is(err, faulty.ErrInjected) {
		t.Errorf("%s: got %v, want a retryable fault, %v", what, err, outcome)
	}
}

// All calls in progress fail at the moment when the connection breaks. Each write has an unknown outcome. Some have happened and
// some have not.
func TestDisconnectFailsWhatIsInProgress(t *testing.T) {
	const writes = 40
	synctest.Test(t, func(t *testing.T) {
		p, plan := open(t)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send, faulty.Count}, Kind: faulty.Delay, Delay: time.Hour})
		wrote, counted, parked := make(chan error, writes), make(chan error, 1), make(chan error, 1)
		began := time.Now()
		for range writes {
			go func() { wrote <- send(t, p, "m") }()
		}
		go func() {
			_, err := p.Count(t.Context(), provider.CountRequest{})
			counted <- err
		}()
		go func() {
			_, err := fetchTasks(t.Context(), p, time.Minute)
			parked <- err
		}()
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		plan.Disconnect()
		for range writes {
			wantFault(t, "write in progress", <-wrote, provider.OutcomeUnknown)
		}
		wantFault(t, "read in progress", <-counted, provider.OutcomeNothing)
		wantFault(t, "parked fetch", <-parked, provider.OutcomeUnknown)
		if took := time.Since(began); took != time.Second {
			t.Errorf("failed after %v, want at the moment of the loss", took)
		}
		if n := waiting(t, p); n == 0 || n == writes {
			t.Errorf("%d of %d writes have happened, want some", n, writes)
		}
	})
}

func TestNothingGetsThroughUntilReconnect(t *testing.T) {
	p, plan := open(t)
	heard := 0
	defer p.Notify(func(provider.Notice) { heard++ })()
	plan.Disconnect()
	wantFault(t, "send", send(t, p, "m"), provider.OutcomeNothing)
	_, err := p.Get(t.Context(), provider.GetRequest{ID: "i"})
	wantFault(t, "get", err, provider.OutcomeNothing)
	steer := provider.SteerRequest{ID: "i", Action: provider.SteerReset, Commit: provider.UUID{3}}
	if _, err := p.Unwrap().Steer(t.Context(), steer); err != nil || heard != 0 {
		t.Errorf("%v, heard %d, want none", err, heard)
	}
	plan.Reconnect()
	steer.Commit = provider.UUID{4}
	if _, err := p.Steer(t.Context(), steer); err != nil || heard != 1 {
		t.Errorf("%v, heard %d, want 1", err, heard)
	}
	if err := send(t, p, "m"); err != nil || waiting(t, p) != 1 {
		t.Errorf("%v, %d stored, want 1", err, waiting(t, p))
	}
}

// A rule breaks the connection during a call, and time restores it.
func TestDisconnectByRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, plan := open(t)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.Disconnect, Every: 2, Delay: 3 * time.Second})
		parked := make(chan error, 1)
		go func() {
			_, err := fetchTasks(t.Context(), p, time.Minute)
			parked <- err
		}()
		synctest.Wait()
		if err := send(t, p, "first"); err != nil {
			t.Error(err)
		}
		wantFault(t, "struck", send(t, p, "second"), provider.OutcomeUnknown)
		wantFault(t, "parked fetch", <-parked, provider.OutcomeUnknown)
		time.Sleep(3*time.Second - 1) //nolint:forbidigo // virtual time
		_, err := p.Count(t.Context(), provider.CountRequest{})
		wantFault(t, "before it is mended", err, provider.OutcomeNothing)
		time.Sleep(time.Nanosecond) //nolint:forbidigo // virtual time
		if _, err := p.Count(t.Context(), provider.CountRequest{}); err != nil {
			t.Errorf("after 3s: %v", err)
		}
	})
}

func TestDisconnectUntil(t *testing.T) {
	p, plan := open(t)
	mended := make(chan struct{})
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.Disconnect, First: 1, Until: mended})
	wantFault(t, "struck", send(t, p, "m"), provider.OutcomeUnknown)
	wantFault(t, "not mended", send(t, p, "m"), provider.OutcomeNothing)
	close(mended)
	if err := send(t, p, "m"); err != nil {
		t.Error(err)
	}
}

// A write whose connection broke has happened or not, and a repeat shows which. The same seed decides the same.
func TestOutcomeUnderABrokenConnectionFollowsTheSeed(t *testing.T) {
	run := func(seed uint64) (happened string) {
		plan := faulty.NewPlan(seed)
		p := faulty.Wrap(memory.New(memory.Options{}), plan)
		defer func() { _ = p.Close() }()
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Create}, Kind: faulty.Disconnect})
		for n := range byte(30) {
			_, err := p.Create(t.Context(), provider.CreateRequest{ID: fmt.Sprint(n), Key: provider.UUID{1, n}, Commit: provider.UUID{2, n}, Name: "n"})
			wantFault(t, "create", err, provider.OutcomeUnknown)
			plan.Reconnect()
			if _, err := p.Get(t.Context(), provider.GetRequest{ID: fmt.Sprint(n)}); err == nil {
				happened += "x"
			} else {
				happened += "."
			}
		}
		return happened
	}
	if a, b, c := run(1), run(1), run(2); a != b || a == c {
		t.Errorf("%s and %s with one seed, %s with another", a, b, c)
	}
}
