package dispatcher_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// slowAnswers is a store with slow responses: the first that leases a task is late, and no renewal returns.
type slowAnswers struct {
	*provider.Full

	late    time.Duration
	hang    bool // renewals never return; else they fail at once
	renews  bool
	granted chan time.Time // when the storage granted the first lease
	once    atomic.Bool

	released atomic.Int64
}

func newSlowAnswers(p provider.Provider, late time.Duration) *slowAnswers {
	return &slowAnswers{Full: provider.FullOf(p), late: late, granted: make(chan time.Time, 1)}
}

func (s *slowAnswers) Unwrap() provider.Provider { return s.Provider }

func (s *slowAnswers) leased() {
	if s.once.CompareAndSwap(false, true) {
		s.granted <- time.Now()
		time.Sleep(s.late) //nolint:forbidigo // virtual time
	}
}

func (s *slowAnswers) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := s.Provider.FetchTasks(ctx, req)
	if len(res.Tasks) > 0 {
		s.leased()
	}
	return res, err
}

func (s *slowAnswers) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	if len(req.Items) > 0 && req.Items[0].Outcome == provider.TaskRelease {
		s.released.Add(1)
	}
	return s.Provider.ReportTasks(ctx, req)
}

func (s *slowAnswers) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	res, err := s.Provider.CommitTurn(ctx, req)
	if len(req.Tasks) > 0 && req.Tasks[0].Lease != nil {
		s.leased()
	}
	return res, err
}

func (s *slowAnswers) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	if s.renews {
		return s.Provider.RenewTasks(ctx, req)
	}
	if s.hang {
		<-ctx.Done()
	}
	return provider.RenewTasksResult{}, errors.New("no answer")
}

// takes are the ways in which a node gets a task. A fetch was parked for long or finds it at once, or the node's own
// commit hands it off.
var takes = []string{"parked", "fetched", "handed off"}

// take starts a node that gets the only task in the given way, and returns the instance.
func take(e *enginetest.Engine, s *slowAnswers, way string, work func(context.Context, int) (int, error)) provider.UUID {
	e.T.Helper()
	if way == "handed off" {
		e.StartOn(s, single(e, work), e.Options)
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		return e.Create("single", "single", 7)
	}
	turns, worker := separate(e, work)
	if way == "parked" {
		e.StartOn(s, worker, e.Options)
		time.Sleep(29 * time.Second) //nolint:forbidigo // virtual time
	}
	e.Start(turns)
	key := e.Create("single", "single", 7)
	if way == "fetched" {
		e.Until("it is scheduled", func() bool { return len(e.Tasks(key)) == 1 })
		e.StartOn(s, worker, e.Options)
	}
	return key
}

// A node counts a lease from before the storage granted it, however long the response took or the request was parked.
// It abandons the attempt while a fifth is left, whether renewals fail or hang.
func TestHazard26_GivesUpBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	for _, way := range takes {
		for name, late := range map[string]time.Duration{"at once": 0, "late": 15 * time.Second} {
			for renewals, hang := range map[string]bool{"fail": false, "hang": true} {
				t.Run(way+"/answered "+name+"/renewals "+renewals, func(t *testing.T) {
					t.Parallel()
					enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
						s := newSlowAnswers(e.Store, late)
						s.hang = hang
						told := make(chan error, 1)
						key := take(e, s, way, func(ctx context.Context, _ int) (int, error) {
							if len(told) > 0 {
								return 7, nil
							}
							<-ctx.Done()
							told <- context.Cause(ctx)
							return 0, ctx.Err()
						})
						granted := <-s.granted
						e.Until("it is told", func() bool { return len(told) == 1 })
						// Until looks twice a second.
						if after := time.Since(granted); after < 24*time.Second || after > 24*time.Second+600*time.Millisecond {
							e.T.Errorf("given up %v after the lease was granted, want 24 s of 30 s", after)
						}
						if got := enginetest.Output[int](e, key); got != 7 {
							e.T.Errorf("got %d", got)
						}
						if cause := <-told; !errors.Is(cause, activity.ErrLeaseLost) {
							e.T.Errorf("told %v", cause)
						}
					})
				})
			}
		}
	}
}

// A node does not begin a task if less than a third of its lease is left. It releases the task, which counts as no
// delivery. The next fetch gets it before its lease would have ended.
func TestHazard26_ShortLeaseIsNotBegun(t *testing.T) {
	t.Parallel()
	for _, way := range takes {
		for name, late := range map[string]time.Duration{"more than a third": 19 * time.Second, "less than a third": 21 * time.Second} {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
					s := newSlowAnswers(e.Store, late)
					s.renews = true
					var runs enginetest.Notes[activity.Info]
					var at enginetest.Notes[time.Time]
					key := take(e, s, way, func(ctx context.Context, n int) (int, error) {
						runs.Add(activity.GetInfo(ctx))
						at.Add(time.Now())
						return n, nil
					})
					granted := <-s.granted
					if got := enginetest.Output[int](e, key); got != 7 {
						e.T.Errorf("got %d", got)
					}
					all := runs.All()
					if len(all) != 1 || all[0].Attempt != 1 || all[0].Deliveries != 1 {
						e.T.Errorf("runs: %+v", all)
					}
					if began := at.All()[0].Sub(granted); began < late || began > 25*time.Second {
						e.T.Errorf("begun after %v", began)
					}
					if gaveBack := s.released.Load() == 1; gaveBack != (late > 20*time.Second) {
						e.T.Errorf("given back: %v", gaveBack)
					}
				})
			})
		}
	}
}

// That a lease is over says nothing about a result: the token decides. One that comes when nobody else has taken the task counts, though
// the node had given the attempt up.
func TestHazard26_TokenDecides(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 1}, func(e *enginetest.Engine) {
		var runs enginetest.Notes[error]
		began := make(chan struct{}, 2)
		key := take(e, newSlowAnswers(e.Store, 0), "handed off", func(ctx context.Context, n int) (int, error) {
			began <- struct{}{}
			time.Sleep(32 * time.Second) //nolint:forbidigo // virtual time: the lease ended two seconds ago
			runs.Add(context.Cause(ctx))
			return n, nil
		})
		<-began
		e.Steer(key, provider.SteerSuspend) // so that nobody else takes it
		time.Sleep(33 * time.Second)        //nolint:forbidigo // virtual time
		e.Steer(key, provider.SteerResume)
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
		if all := runs.All(); len(all) != 1 || !errors.Is(all[0], activity.ErrLeaseLost) {
			e.T.Errorf("runs, by what they were told: %v", all)
		}
	})
}
