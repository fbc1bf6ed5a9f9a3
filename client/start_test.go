package client_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

func TestStartStoresInstance(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("order-42"))
	i := w.Get(h.Key())
	if h.ID() != "order-42" || i.ID != "order-42" || i.Name != "Checkout" || i.EngineLevel != replay.LowestLevel || i.RequestID == "" {
		t.Errorf("stored %+v", i)
	}
	started, ok := w.Inbox(h.Key())[0].(*history.ExecutionStarted)
	if !ok || started.Name != "Checkout" || string(started.Input) != `{"Item":"tea"}` ||
		started.Settings != replay.SettingsAt(upgrade.Unrecorded) || started.RequestID != i.RequestID {
		t.Errorf("start message %+v", started)
	}
	if v := uuid.UUID(h.Key()).Version(); v != 8 || provider.SlotOf(h.Key()) != provider.SlotOfID("order-42") {
		t.Errorf("key %s has version %d, slot %d", h.Key(), v, provider.SlotOf(h.Key()))
	}
}

func TestStartDefaultID(t *testing.T) {
	w := newWorld(t, client.Options{})
	a, b := w.Start(), w.Start()
	id, err := uuid.Parse(a.ID())
	if err != nil || id.Version() != 7 || a.ID() == b.ID() || a.Key() == b.Key() {
		t.Errorf("IDs %q and %q: %v", a.ID(), b.ID(), err)
	}
}

func TestStartNames(t *testing.T) {
	w := newWorld(t, client.Options{})
	defined := orchestration.Define("pay", func(*orchestration.Context, order) (receipt, error) { return receipt{}, nil })
	h, err := client.Start(t.Context(), w.Client, defined, order{})
	if err != nil || w.Get(h.Key()).Name != "pay" {
		t.Errorf("started %v, %v", w.Get(h.Key()).Name, err)
	}
	g, err := client.StartNamed[receipt](t.Context(), w.Client, "elsewhere", orchestration.None{})
	if err != nil || w.Get(g.Key()).Name != "elsewhere" {
		t.Errorf("started %v, %v", w.Get(g.Key()).Name, err)
	}
}

func TestStartIDPolicies(t *testing.T) {
	w := newWorld(t, client.Options{})
	old := w.Start(client.WithID("a"))
	start := func(p client.IDPolicy) (client.Handle[receipt], error) {
		return client.Start(t.Context(), w.Client, Checkout, order{}, client.WithID("a"), client.WithIDPolicy(p))
	}
	_, err := start(client.Reject)
	want(t, err, `starting "Checkout" as instance "a": instance "a" already exists (status Running): `+
		`use another ID, or take it with client.UseExisting`, client.ErrExists)
	if e, ok := errors.AsType[*client.ExistsError](err); !ok || e.Key != old.Key() || provider.OutcomeOf(err) != provider.OutcomeNothing {
		t.Errorf("error %#v", err)
	}
	if _, err := start(client.ReplaceEnded); !errors.Is(err, client.ErrExists) {
		t.Errorf("replacing a running one: %v", err)
	}
	if h, err := start(client.UseExisting); err != nil || h != old {
		t.Errorf("used %v, %v", h, err)
	}
	w.Complete(old.Key(), `{"Number":1}`)
	h, err := start(client.ReplaceEnded)
	if err != nil || h.Key() == old.Key() {
		t.Fatalf("replaced by %v, %v", h, err)
	}
	w.Complete(h.Key(), `{"Number":2}`)
	for i, h := range []client.Handle[receipt]{old, h} { // the old handle never means the successor
		if r, err := h.Wait(t.Context()); err != nil || r.Number != i+1 {
			t.Errorf("handle %d got %+v, %v", i, r, err)
		}
	}
}

func TestStartUseExistingOfOther(t *testing.T) {
	w := newWorld(t, client.Options{})
	w.Start(client.WithID("a"))
	_, err := client.StartNamed[int](t.Context(), w.Client, "Child", 1, client.WithID("a"), client.WithIDPolicy(client.UseExisting))
	want(t, err, `starting "Child" as instance "a": instance "a" already exists (status Running), of orchestration "Checkout": use another ID`,
		client.ErrExists)
}

func TestStartRequestID(t *testing.T) {
	w := newWorld(t, client.Options{})
	opts := []client.StartOption{client.WithID("a"), client.WithRequestID("click-1")}
	first := w.Start(opts...)
	w.Complete(first.Key(), `{}`)
	if again := w.Start(opts...); again != first {
		t.Errorf("repeat started %v, not %v", again, first)
	}
	if n, err := w.Count(t.Context(), client.Filter{Replaced: true}); n != 1 || err != nil {
		t.Errorf("%d instances, %v", n, err)
	}
}

func TestStartDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		for d, want := range map[time.Duration]int64{time.Hour: 3_600_000_000, time.Nanosecond: 1} { // nothing begins early
			h := w.Start(client.WithDelay(d))
			started := w.Inbox(h.Key())[0].(*history.ExecutionStarted)
			if level := w.Get(h.Key()).EngineLevel; started.Delay != want || level != replay.LevelOfDelay {
				t.Errorf("a delay of %v is %d µs at level %d", d, started.Delay, level)
			}
		}
	})
}

func TestStartUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.Lose(faulty.Create, 3)
		w.Start(client.WithID("a"))
		w.plan.Clear()
		w.Lose(faulty.Create, 2)
		w.Start()
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Create}, First: 3, Kind: faulty.Before})
		w.Start()
		if n, err := w.Count(t.Context(), client.Filter{Replaced: true}); n != 3 || err != nil {
			t.Errorf("%d instances, %v", n, err)
		}
	})
}

func TestStartRepeatsSameRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.Lose(faulty.Create, 1)
		spy := &creates{hidden: hidden{provider.FullOf(faulty.Wrap(w.store, w.plan))}}
		h, err := client.Start(t.Context(), clienttest.New(t, spy, client.Options{Logger: slog.New(slog.DiscardHandler)}), Checkout, order{})
		if err != nil || len(spy.requests) != 2 {
			t.Fatalf("%d calls, %v", len(spy.requests), err)
		}
		a, b := spy.requests[0], spy.requests[1]
		if a.ID != b.ID || a.Key != b.Key || a.Commit != b.Commit || a.RequestID != b.RequestID || h.Key() != a.Key {
			t.Errorf("requests differ:\n%+v\n%+v", a, b)
		}
	})
}

func TestStartOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{CallTimeout: time.Minute})
		w.plan.StartOutage()
		begin := time.Now()
		_, err := client.Start(t.Context(), w.Client, Checkout, order{}, client.WithID("a"))
		want(t, err, `starting "Checkout" as instance "a": the storage did not answer within the client's CallTimeout: context deadline exceeded `+
			`(the storage said last: create: injected fault (nothing happened))`, context.DeadlineExceeded, faulty.ErrInjected)
		if errors.Is(err, client.ErrOutcomeUnknown) || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		w.plan.EndOutage()
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Create}, Kind: faulty.After})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.Start(ctx, w.Client, Checkout, order{}, client.WithID("a"), client.WithRequestID("r"))
		want(t, err, `starting "Checkout" as instance "a": context deadline exceeded (the storage said last: create: injected fault (unknown)); `+
			`it may have been stored all the same: repeat it with client.WithID("a") and client.WithRequestID("r")`,
			context.DeadlineExceeded, client.ErrOutcomeUnknown)
		w.plan.Clear()
		w.Start(client.WithID("a"), client.WithRequestID("r"))
	})
}

func TestStartContext(t *testing.T) {
	w := newWorld(t, client.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("shutting down"))
	_, err := client.Start(ctx, w.Client, Checkout, order{}, client.WithID("a"))
	want(t, err, `starting "Checkout" as instance "a": context canceled: shutting down`, context.Canceled)
	_ = w.store.Close()
	_, err = client.Start(t.Context(), w.Client, Checkout, order{}, client.WithID("a"))
	want(t, err, `starting "Checkout" as instance "a": provider is closed: open the store again and make a client of it`, client.ErrClosed)
}

func TestStartRefusesBadInput(t *testing.T) {
	w := newWorld(t, client.Options{})
	long := strings.Repeat("x", 513)
	closure := func(*orchestration.Context, order) (receipt, error) { return receipt{}, nil }
	named := func(name string, in any, opts ...client.StartOption) error {
		_, err := client.StartNamed[int](t.Context(), w.Client, name, in, opts...)
		return err
	}
	function := func(fn func(*orchestration.Context, order) (receipt, error)) error {
		_, err := client.Start(t.Context(), w.Client, fn, order{})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want error
		text string
	}{
		"nil function":     {function(nil), client.ErrInvalid, "nil"},
		"closure":          {function(closure), client.ErrInvalid, "Define"},
		"empty name":       {named("", 1), client.ErrInvalid, "orchestration name is empty"},
		"long name":        {named(long, 1), client.ErrInvalid, "513 bytes"},
		"NUL name":         {named("a\x00", 1), client.ErrInvalid, "NUL"},
		"bad name":         {named("a\xff", 1), client.ErrInvalid, "UTF-8"},
		"empty ID":         {named("a", 1, client.WithID("")), client.ErrInvalid, "instance ID is empty"},
		"long ID":          {named("a", 1, client.WithID(long)), client.ErrInvalid, "513 bytes"},
		"NUL ID":           {named("a", 1, client.WithID("\x00")), client.ErrInvalid, "NUL"},
		"bad ID":           {named("a", 1, client.WithID("\xff")), client.ErrInvalid, "UTF-8"},
		"policy":           {named("a", 1, client.WithIDPolicy(9)), client.ErrInvalid, "ID policy 9"},
		"delay":            {named("a", 1, client.WithDelay(-1)), client.ErrInvalid, "negative"},
		"empty request ID": {named("a", 1, client.WithID("a"), client.WithRequestID("")), client.ErrInvalid, "request ID is empty"},
		"request ID alone": {named("a", 1, client.WithRequestID("r")), client.ErrInvalid, "give both"},
		"nil option":       {named("a", 1, nil), client.ErrInvalid, "option is nil"},
		"channel":          {named("a", make(chan int)), client.ErrInvalid, "input"},
		"large":            {named("a", strings.Repeat("x", 2<<20)), client.ErrTooLarge, "2097154 bytes"},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) || len(c.err.Error()) > 300 {
			t.Errorf("%s: got %v", name, c.err)
		}
	}
	if n, err := w.Count(t.Context(), client.Filter{}); n != 0 || err != nil {
		t.Errorf("%d instances were stored, %v", n, err)
	}
	if err := named("a", strings.Repeat("x", 2<<20-2)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func TestUnusableClient(t *testing.T) {
	var handle client.Handle[int]
	store := memory.New(memory.Options{})
	for name, c := range map[string]*client.Client{
		"nil": nil, "zero": {},
	} {
		_, startErr := client.Start(t.Context(), c, Checkout, order{})
		_, lookupErr := client.Lookup[int](t.Context(), c, "a")
		_, describeErr := c.Describe(t.Context(), "a")
		_, listErr := c.List(t.Context(), client.Filter{}, client.Page{})
		_, countErr := c.Count(t.Context(), client.Filter{})
		_, waitErr := client.HandleOf[int](c, "a", provider.UUID{1}).Wait(t.Context())
		_, zeroErr := handle.Wait(t.Context())
		_, handleErr := handle.Describe(t.Context())
		errs := []error{
			startErr, lookupErr, describeErr, listErr, countErr, waitErr, zeroErr, handleErr,
			c.Raise(t.Context(), "a", "e", 1), c.Cancel(t.Context(), "a", ""), c.Terminate(t.Context(), "a", ""),
			handle.Raise(t.Context(), "e", 1), handle.Cancel(t.Context(), ""), handle.Terminate(t.Context(), ""),
		}
		for _, err := range c.History(t.Context(), "a", 0) {
			errs = append(errs, err)
		}
		for _, err := range handle.History(t.Context(), 0) {
			errs = append(errs, err)
		}
		for _, err := range c.All(t.Context(), client.Filter{}) {
			errs = append(errs, err)
		}
		if len(errs) != 17 {
			t.Errorf("%s: %d errors", name, len(errs))
		}
		for i, err := range errs {
			if !errors.Is(err, client.ErrInvalid) {
				t.Errorf("%s: call %d: %v", name, i, err)
			}
		}
	}
	if _, err := client.Start(t.Context(), clienttest.New(t, store, client.Options{CallTimeout: orchestration.Off}), Checkout, order{}); err != nil {
		t.Errorf("without a timeout: %v", err)
	}
}

// hangingStore is a store that is locked, and then says nothing.
type hangingStore struct {
	hidden

	calls int
}

var errLocked = errors.New("the file is locked by shop.go:36")

func (d *hangingStore) Create(ctx context.Context, _ provider.CreateRequest) (provider.CreateResult, error) {
	if d.calls++; d.calls == 1 {
		return provider.CreateResult{}, &provider.Error{Op: "create", Outcome: provider.OutcomeNothing, Retryable: true, Err: errLocked}
	}
	<-ctx.Done()
	return provider.CreateResult{}, ctx.Err()
}

// The error of a deadline says what the storage said before it, even if the last attempt got no reply.
func TestTimeoutSaysWhatTheStorageSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		c := clienttest.New(t, &hangingStore{hidden: hidden{provider.FullOf(w.store)}}, client.Options{Logger: slog.New(slog.DiscardHandler)})
		_, err := client.Start(t.Context(), c, Checkout, order{})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errLocked) {
			t.Errorf("%v: want the deadline, and that the file was locked", err)
		}
	})
}
