package faulty_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// A blocked call waits for something that trigger causes. found returns the result of the call.
type blockedCall struct {
	op      faulty.Op
	prepare func(t *testing.T, p provider.Provider)
	call    func(ctx context.Context, p provider.Provider, wait time.Duration) (found bool, err error)
	trigger func(t *testing.T, p provider.Provider)
}

var able = []provider.Capability{{Name: "n"}}

func fetchTurns(ctx context.Context, p provider.Provider, wait time.Duration) (bool, error) {
	res, err := p.FetchTurns(ctx, provider.FetchTurnsRequest{
		Owner: "o", Token: provider.UUID{9}, Lease: time.Hour, Capabilities: able, Max: 1, Wait: wait,
	})
	return len(res.Turns) > 0, err
}

func fetchTasks(ctx context.Context, p provider.Provider, wait time.Duration) (bool, error) {
	res, err := p.FetchTasks(ctx, provider.FetchTasksRequest{
		Owner: "o", Token: provider.UUID{9}, Lease: time.Hour, Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"a"}}}, Max: 1, Wait: wait,
	})
	return len(res.Tasks) > 0, err
}

func fetchAsks(ctx context.Context, p provider.Provider, wait time.Duration) (bool, error) {
	res, err := provider.FullOf(p).FetchAsks(ctx, provider.FetchAsksRequest{Capabilities: able, Max: 1, Lease: time.Hour, Wait: wait})
	return len(res.Asks) > 0, err
}

func getEnded(ctx context.Context, p provider.Provider, wait time.Duration) (bool, error) {
	res, err := p.Get(ctx, provider.GetRequest{ID: "i", WaitEnded: true, Wait: wait})
	return res.Instance.Status.Ended(), err
}

// blockedCalls are all calls that a wake-up reaches.
func blockedCalls() []blockedCall {
	commit := func(t *testing.T, p provider.Provider, change func(*provider.CommitTurnRequest)) {
		t.Helper()
		req := provider.CommitTurnRequest{
			Key: provider.UUID{1}, Execution: 1, Expected: provider.UUID{2}, Commit: provider.UUID{3}, Status: provider.StatusRunning,
		}
		change(&req)
		if _, err := p.CommitTurn(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	return []blockedCall{
		{faulty.FetchTurns, func(t *testing.T, p provider.Provider) {
			t.Helper()
			if found, err := fetchTurns(t.Context(), p, 0); !found || err != nil {
				t.Fatal(found, err)
			}
		}, fetchTurns, func(t *testing.T, p provider.Provider) {
			t.Helper()
			_, err := p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: provider.UUID{9}}}})
			if err != nil {
				t.Fatal(err)
			}
		}},
		{faulty.FetchTasks, nil, fetchTasks, func(t *testing.T, p provider.Provider) {
			t.Helper()
			commit(t, p, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "a"}} })
		}},
		{faulty.FetchAsks, nil, fetchAsks, func(t *testing.T, p provider.Provider) {
			t.Helper()
			go provider.FullOf(p).Ask(t.Context(), provider.AskRequest{ID: "i", AskID: provider.UUID{4}, Wait: time.Minute}) //nolint:errcheck // nobody answers
			synctest.Wait()
		}},
		{faulty.Get, nil, getEnded, func(t *testing.T, p provider.Provider) {
			t.Helper()
			commit(t, p, func(r *provider.CommitTurnRequest) { r.Status, r.CloseInbox = provider.StatusCompleted, "x" })
		}},
	}
}

// bubbles tests each blocked call in virtual time: came checks what the call found, and when.
func bubbles(t *testing.T, test func(t *testing.T, c blockedCall, plan *faulty.Plan, p *faulty.Provider, came func(trigger bool) (bool, time.Duration))) {
	t.Helper()
	for _, c := range blockedCalls() {
		t.Run(string(c.op), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, plan := open(t)
				if c.prepare != nil {
					c.prepare(t, p)
				}
				test(t, c, plan, p, func(trigger bool) (found bool, after time.Duration) {
					began, done := time.Now(), make(chan error, 1)
					go func() {
						var err error
						found, err = c.call(t.Context(), p, 30*time.Second)
						done <- err
					}()
					if time.Sleep(2 * time.Second); trigger { //nolint:forbidigo // virtual time
						c.trigger(t, p)
					}
					if err := <-done; err != nil {
						t.Error(err)
					}
					return found, time.Since(began)
				})
			})
		})
	}
}

func TestDuplicateWakeUp(t *testing.T) {
	bubbles(t, func(t *testing.T, c blockedCall, plan *faulty.Plan, _ *faulty.Provider, came func(bool) (bool, time.Duration)) {
		plan.Add(faulty.Rule{Kind: faulty.DuplicateWake, Ops: []faulty.Op{c.op}, Delay: 5 * time.Second, First: 2})
		for call, want := range []struct {
			trigger, found bool
			after          time.Duration
		}{{false, false, 5 * time.Second}, {true, true, 2 * time.Second}} {
			if found, after := came(want.trigger); found != want.found || after != want.after {
				t.Errorf("call %d: found %v after %v, want %+v", call, found, after, want)
			}
		}
		if n := plan.Injected(c.op); n != 2 {
			t.Errorf("injected %d, want 2", n)
		}
	})
}

func TestUnfaultedCallIsWoken(t *testing.T) {
	bubbles(t, func(t *testing.T, _ blockedCall, _ *faulty.Plan, _ *faulty.Provider, came func(bool) (bool, time.Duration)) {
		if found, after := came(true); !found || after != 2*time.Second {
			t.Errorf("found %v after %v, want it at the trigger", found, after)
		}
	})
}

func TestLostWakeUp(t *testing.T) {
	for name, want := range map[string]struct{ interval, after time.Duration }{
		"until Wait": {0, 30 * time.Second}, "until the next look": {7 * time.Second, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubbles(t, func(t *testing.T, c blockedCall, plan *faulty.Plan, _ *faulty.Provider, came func(bool) (bool, time.Duration)) {
				plan.Add(faulty.Rule{Kind: faulty.LostWake, Ops: []faulty.Op{c.op}, Delay: want.interval})
				if found, after := came(true); !found || after != want.after {
					t.Errorf("found %v after %v, want it after %v", found, after, want.after)
				}
			})
		})
	}
}

// A call that finds something at once waits for no wake-up. One that finds nothing returns after Wait.
func TestLostWakeUpBlocksNoLonger(t *testing.T) {
	bubbles(t, func(t *testing.T, c blockedCall, plan *faulty.Plan, p *faulty.Provider, came func(bool) (bool, time.Duration)) {
		plan.Add(faulty.Rule{Kind: faulty.LostWake, Delay: 7 * time.Second})
		if found, after := came(false); found || after != 30*time.Second {
			t.Errorf("found %v after %v, want nothing after 30s", found, after)
		}
		c.trigger(t, p)
		began := time.Now()
		if found, err := c.call(t.Context(), p, time.Minute); !found || err != nil || time.Since(began) != 0 {
			t.Errorf("found %v, %v after %v, want it at once", found, err, time.Since(began))
		}
	})
}

// Wake-up kinds do not apply to calls that cannot block.
func TestWakingConcernsBlockedCallsOnly(t *testing.T) {
	p, plan := open(t)
	plan.Add(faulty.Rule{Kind: faulty.LostWake})
	if _, err := p.Get(t.Context(), provider.GetRequest{ID: "i", Wait: time.Hour}); err != nil {
		t.Error(err)
	}
	if _, err := fetchTurns(t.Context(), p, 0); err != nil {
		t.Error(err)
	}
	if err := send(t, p, "m"); err != nil || len(plan.Log()) > 0 {
		t.Errorf("%v, struck %v", err, plan.Log())
	}
}

func TestCloseEndsStruckCalls(t *testing.T) {
	for _, rule := range []faulty.Rule{{Kind: faulty.LostWake}, {Kind: faulty.Delay, Delay: time.Hour}, {Kind: faulty.DuplicateWake, Delay: time.Hour}} {
		t.Run(rule.Kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, plan := open(t)
				plan.Add(rule)
				done, began := make(chan error, 1), time.Now()
				go func() {
					_, err := fetchTasks(t.Context(), p, time.Minute)
					done <- err
				}()
				synctest.Wait()
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				if err := <-done; !isClosed(err) || time.Since(began) != 0 {
					t.Errorf("%v after %v, want ErrClosed at once", err, time.Since(began))
				}
			})
		})
	}
}

// A notice comes twice or is lost, as the rule says.
func TestNotices(t *testing.T) {
	p, plan := open(t)
	heard := 0
	defer p.Notify(func(provider.Notice) { heard++ })()
	for n, want := range []struct {
		kind faulty.Kind
		told int
	}{{faulty.DuplicateWake, 2}, {faulty.LostWake, 0}, {faulty.Before, 1}} {
		plan.Clear()
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Notify}, Kind: want.kind})
		heard = 0
		_, err := p.Steer(t.Context(), provider.SteerRequest{ID: "i", Action: provider.SteerReset, Commit: provider.UUID{byte(10 + n)}})
		if err != nil || heard != want.told {
			t.Errorf("%v: %v, told %d times, want %d", want.kind, err, heard, want.told)
		}
	}
}
