package operate_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// onCall runs a node, in virtual time, on which everything goes wrong that an incident tells of. It returns a client.
func onCall(t *testing.T, store provider.Provider) *client.Client {
	t.Helper()
	reg := runtime.NewRegistry()
	define := func(name string, fn func(*orchestration.Context, int) (string, error)) {
		t.Helper()
		if err := runtime.AddOrchestration(reg, orchestration.Define(name, fn)); err != nil {
			t.Fatal(err)
		}
	}
	act := func(name string) {
		t.Helper()
		err := runtime.AddActivity(reg, activity.Define(name, func(context.Context, int) (string, error) { return "", errors.New(name + " says no") }))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"charge", "ship", "mail"} {
		act(name)
	}
	call := func(name string, opts ...orchestration.ActivityOption) func(*orchestration.Context, int) (string, error) {
		return func(ctx *orchestration.Context, n int) (string, error) {
			return orchestration.CallActivityNamed[string](ctx, name, n, opts...)
		}
	}
	again := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 9, InitialInterval: 5 * time.Hour})
	define("Pay", call("charge", orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 1})))
	define("Ship", call("ship", again))
	define("Mail", call("mail"))
	define("Alone", func(*orchestration.Context, int) (string, error) { return "", errors.New("no stock") })
	define("Break", func(*orchestration.Context, int) (string, error) { panic("on purpose") })
	define("Ask", func(ctx *orchestration.Context, _ int) (string, error) {
		return orchestration.Events[string](ctx, "answer").Receive(ctx, orchestration.Waiting("an approval"))
	})
	quiet := slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	c := clienttest.New(t, store, client.Options{Logger: quiet})
	start := func(name string, n int, opts ...client.StartOption) {
		t.Helper()
		for i := range n {
			if _, err := client.StartNamed[string](t.Context(), c, name, i, opts...); err != nil {
				t.Fatal(err)
			}
		}
	}
	start("Pay", 1)
	time.Sleep(70 * time.Minute) //nolint:forbidigo // virtual time
	start("Pay", 3)
	start("Alone", 1)
	start("Ship", 2)
	start("Break", 1)
	start("Ask", 1)
	time.Sleep(time.Minute) //nolint:forbidigo // virtual time
	start("Ask", 1)
	start("Pay", 5, client.WithVersion("lost"))
	ann, err := c.As(client.Principal{Name: "ann", Role: client.RoleOperator})
	if err == nil {
		_, err = operate.New(ann).PauseQueue(t.Context(), "default", "the bank is down")
	}
	if err != nil {
		t.Fatal(err)
	}
	start("Mail", 4)
	time.Sleep(6 * time.Minute) //nolint:forbidigo // virtual time
	return c
}

// An incident tells what changed, fails, retries, is blocked and waits, whether it grows, how the store is, and what would stop it.
func TestIncidentAnswersWhatIsAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		t.Cleanup(func() { _ = store.Close() })
		in, err := operate.New(onCall(t, store)).Incident(t.Context())
		if err != nil || len(in.Unknown) > 0 || !in.Store.Reachable || in.Store.Latency <= 0 || in.Store.Slow {
			t.Fatalf("%+v, %v: want all parts", in, err)
		}
		marks := func(text string) bool {
			return slices.ContainsFunc(in.Changed.Items, func(m client.FiguresMark) bool { return strings.Contains(m.Text, text) })
		}
		if !marks("ann: pausing") || !marks("node shop") {
			t.Errorf("what changed: %+v", in.Changed.Items)
		}
		if len(in.Failing.Items) != 2 || in.Failing.AtLeast {
			t.Fatalf("what fails: %+v", in.Failing)
		}
		pay := in.Failing.Items[0]
		one, three := client.Counted{Count: 1, Exact: true}, client.Counted{Count: 3, Exact: true}
		if pay.Orchestration != "Pay" || pay.Count != 4 || pay.Recent.Last == nil || *pay.Recent.Last != three || *pay.Recent.Before != one ||
			pay.Recent.Growth != operate.IncidentGrowing || pay.Excerpt.Text != "charge says no" {
			t.Errorf("the first group: %+v", pay)
		}
		if in.Trend.Failed.Last == nil || in.Trend.Failed.Last.Count < 4 {
			t.Errorf("the trend of failures: %+v", in.Trend.Failed)
		}
		ship := in.Retrying.Items[0]
		if in.Retrying.Instances.Count != 2 || ship.Activity != "ship" || ship.Count != 2 || ship.Attempt != 2 || ship.Failure == nil || !ship.Next.After(in.AsOf) {
			t.Errorf("what retries: %+v", in.Retrying)
		}
		block := in.Blocked.Items[0]
		if in.Blocked.Instances.Count != 1 || block.Reason != "panic" || block.Orchestration != "Break" || block.Blocked == nil {
			t.Errorf("what is blocked: %+v", in.Blocked)
		}
		if v := in.NoNode.Items; len(v) != 1 || v[0].Version != "lost" || v[0].Running != 5 {
			t.Errorf("code that no node has: %+v", v)
		}
		if q := in.Queues.Items; len(q) != 1 || q[0].Paused == nil || q[0].Paused.By != "ann" || q[0].Waiting != 4 || q[0].Oldest.IsZero() {
			t.Errorf("queues: %+v", q)
		}
		people := in.People
		if people.Instances != (client.Counted{Count: 2, Exact: true}) || len(people.Items) != 2 || in.AsOf.Sub(people.Oldest) < 7*time.Minute ||
			people.Items[0].Waiting == nil || people.Items[0].Waiting.Text != "an approval" || !people.Items[0].Since.Before(people.Items[1].Since) {
			t.Errorf("who is waited for: %+v", people)
		}
		if in.Nodes.Running != 1 || len(in.Nodes.Lost) > 0 {
			t.Errorf("nodes: %+v", in.Nodes)
		}
		var commands []string
		for _, a := range in.Acts {
			commands = append(commands, a.Command)
		}
		want := []string{ // the queue of charge and ship is paused already
			"perdure bulk start suspend --name Alone --status Running", "perdure bulk start suspend --name Break --blocked --status Running",
			"perdure versions Pay", "perdure queue resume default",
		}
		if !slices.Equal(commands, want) {
			t.Errorf("acts %q, want %q", commands, want)
		}
		if _, err := operate.New(clienttest.New(t, store, client.Options{})).ResumeQueue(t.Context(), "default", "", operate.ConfirmWithin(0)); err != nil {
			t.Fatal(err)
		}
		if in, err = operate.New(clienttest.New(t, store, client.Options{})).Incident(t.Context()); err != nil {
			t.Fatal(err)
		}
		// What retries suggests the same act as a group: it is seen also by those who may not see groups.
		if a := in.Acts[0]; a.Command != "perdure queue pause --reason incident default" || a.Group != "" || strings.Contains(a.Why, "failed") {
			t.Errorf("the first act is %+v", a)
		}
	})
}

// asked notes what an incident asks of a store, and makes it ill.
type asked struct {
	*provider.Full

	slow time.Duration // of each call
	fail func(call string) error

	mu    sync.Mutex
	calls []string
	now   int // calls in progress
	most  int
}

func (s *asked) call(ctx context.Context, name string) (func(), error) {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	done := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}
	var err error
	if s.fail != nil {
		err = s.fail(name)
	}
	if s.slow > 0 {
		timer := time.NewTimer(s.slow)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return done, err
}

func through[Req, Res any](
	ctx context.Context, s *asked, name string, call func(context.Context, Req) (Res, error), req Req,
) (res Res, err error) {
	done, err := s.call(ctx, name)
	defer done()
	if err != nil {
		return res, err
	}
	return call(ctx, req)
}

func (s *asked) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return through(ctx, s, "list", s.Full.List, req)
}

func (s *asked) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return through(ctx, s, "count", s.Full.Count, req)
}

func (s *asked) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	return through(ctx, s, "stats", s.Full.Stats, req)
}

func (s *asked) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return through(ctx, s, "record", s.Full.Record, req)
}

func (s *asked) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	return through(ctx, s, "tasks", s.Full.ListTasks, req)
}

func (s *asked) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	return through(ctx, s, "groups", s.Full.FailureGroups, req)
}

// incidentOf looks at an incident of an ill store.
func incidentOf(t *testing.T, ill *asked) *operate.Incident {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	ill.Full = provider.FullOf(store)
	in, err := operate.New(clienttest.New(t, ill, client.Options{Logger: slog.New(slog.DiscardHandler)})).Incident(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// parts are the parts that an incident can lack.
func parts() []string {
	return []string{"trend", "changed", "nodes", "queues", "retrying", "blocked", "people", "noNode", "failing"}
}

// unknown checks that an incident lacks just these parts, and says why.
func unknown(t *testing.T, in *operate.Incident, why operate.IncidentWhy, want ...string) {
	t.Helper()
	var lacks []string
	for _, u := range in.Unknown {
		lacks = append(lacks, u.Part)
		if u.Why != why {
			t.Errorf("%s is not known: %s, want %s (%s)", u.Part, u.Why, why, u.Error)
		}
	}
	slices.Sort(lacks)
	slices.Sort(want)
	if !slices.Equal(lacks, want) {
		t.Errorf("%q are not known, want %q", lacks, want)
	}
	for name, none := range map[string]bool{
		"trend": in.Trend == nil, "changed": in.Changed == nil, "nodes": in.Nodes == nil, "queues": in.Queues == nil, "retrying": in.Retrying == nil,
		"blocked": in.Blocked == nil, "people": in.People == nil, "noNode": in.NoNode == nil, "failing": in.Failing == nil,
	} {
		if none != slices.Contains(want, name) {
			t.Errorf("%s is nil: %v", name, none)
		}
	}
}

// A store that does not answer gets small reads only, and nothing is known of it.
func TestHazard165_AnIncidentLeavesADeadStoreAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, ill := range map[string]*asked{
			"fails": {fail: func(string) error { return errors.New("connection refused") }}, "hangs": {slow: time.Hour},
		} {
			began := time.Now()
			in := incidentOf(t, ill)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s: it took %v", name, took)
			}
			if in.Store.Reachable || in.Store.Error == "" || !in.AsOf.IsZero() || len(in.Acts) > 0 {
				t.Errorf("%s: %+v", name, in)
			}
			if slices.ContainsFunc(ill.calls, func(call string) bool { return call != "list" }) || ill.most > 1 || len(ill.calls) > 12 {
				t.Errorf("%s: it was asked for %q, %d at once", name, ill.calls, ill.most)
			}
			unknown(t, in, operate.IncidentNotAsked, parts()...)
		}
	})
}

// A slow store gets one read at a time, and one group of reads less. A fast one gets four.
func TestHazard165_AnIncidentReadsOneAtATimeFromASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for slow, want := range map[time.Duration]struct{ most, groups int }{260 * time.Millisecond: {1, 1}, 10 * time.Millisecond: {4, 3}} {
			ill := &asked{slow: slow}
			in := incidentOf(t, ill)
			groups := len(slices.DeleteFunc(slices.Clone(ill.calls), func(call string) bool { return call != "groups" }))
			if ill.most != want.most || groups > want.groups || in.Store.Slow != (want.most == 1) || in.Store.Latency < slow {
				t.Errorf("with %v for each call: %d at once, %d times groups, %+v", slow, ill.most, groups, in.Store)
			}
		}
	})
}

// A store that is so slow that not all can be read within five seconds leaves parts unknown: none of them is zero.
func TestHazard165_WhatIsNotReadInTimeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		in := incidentOf(t, &asked{slow: 900 * time.Millisecond})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		var late []string
		for _, u := range in.Unknown {
			late = append(late, u.Part)
		}
		if !slices.Contains(late, "failing") {
			t.Errorf("%q are late, want the groups of failures", late)
		}
		unknown(t, in, operate.IncidentTimeout, late...)
	})
}

// A part whose read fails is unknown, and the others are known. So it is with what a store lacks.
func TestHazard165_WhatFailsIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := func(err error, calls ...string) *asked {
			return &asked{fail: func(call string) error {
				if slices.Contains(calls, call) {
					return err
				}
				return nil
			}}
		}
		refused := func(err error) error { return &provider.Error{Op: "read", Err: err, Outcome: provider.OutcomeNothing} }
		lacks, damaged := refused(errors.ErrUnsupported), refused(errors.New("damaged"))
		unknown(t, incidentOf(t, broken(damaged, "groups")), operate.IncidentFailed, "failing")
		unknown(t, incidentOf(t, broken(damaged, "stats")), operate.IncidentFailed, "queues", "noNode")
		unknown(t, incidentOf(t, broken(lacks, "tasks", "groups")), operate.IncidentUnsupported, "retrying", "failing")
		ofRecords := []string{"trend", "changed", "nodes", "queues", "noNode"}
		unknown(t, incidentOf(t, broken(lacks, "record")), operate.IncidentUnsupported, ofRecords...)
		// What is tried again until the time is over leaves time for the others.
		unknown(t, incidentOf(t, broken(errors.New("connection reset"), "record")), operate.IncidentTimeout, ofRecords...)
	})
}

// Who gives up gets the error of the context, and a store that cannot list instances has no incident.
func TestIncidentErrors(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	o := operate.New(clienttest.New(t, store, client.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Incident(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
	if _, err := operate.New(nil).Incident(t.Context()); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("no client: %v", err)
	}
	lists := &asked{Full: provider.FullOf(store), fail: func(string) error {
		return &provider.Error{Op: "list", Err: errors.ErrUnsupported, Outcome: provider.OutcomeNothing}
	}}
	if _, err := operate.New(clienttest.New(t, lists, client.Options{})).Incident(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a store without lists: %v", err)
	}
}
