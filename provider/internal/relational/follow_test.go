package relational

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// fakeStore has one key-value per name, and counts what is read of it.
type fakeStore struct {
	mu          sync.Mutex
	values      map[Followed]string
	reads       atomic.Int64
	polls       atomic.Int64
	polledItems atomic.Int64 // items of all polls
	slow        time.Duration
	broken      atomic.Bool  // polls fail
	still       atomic.Bool  // polls find that no other process has committed
	reported    atomic.Int64 // failed polls that were reported
}

var errBroken = errors.New("broken")

func newFakeStore() *fakeStore { return &fakeStore{values: make(map[Followed]string)} }

func (s *fakeStore) set(key provider.UUID, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[Followed{key, name}] = value
}

func (s *fakeStore) source() *Source {
	return &Source{
		Get: func(_ context.Context, req *provider.GetRequest) (res provider.GetResult, err error) {
			s.reads.Add(1)
			s.mu.Lock()
			defer s.mu.Unlock()
			res.Instance = provider.Instance{Key: req.Key, Status: provider.StatusRunning}
			if v, ok := s.values[Followed{req.Key, req.Value}]; ok {
				res.Value, res.Mark = &provider.KeyValue{Key: req.Value, Value: []byte(v)}, v
			}
			return res, nil
		},
		Stamps: func(_ context.Context, list []Followed) (stamps []uint64, err error) {
			s.polls.Add(1)
			if s.broken.Load() {
				return nil, errBroken
			}
			if s.still.Load() {
				return nil, nil
			}
			s.polledItems.Add(int64(len(list)))
			time.Sleep(s.slow) //nolint:forbidigo // of a bubble's clock
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, what := range list {
				stamps = append(stamps, uint64(len(s.values[what])))
			}
			return stamps, nil
		},
		Now:    noTime,
		Failed: func(error) { s.reported.Add(1) },
	}
}

// A thousand calls wait for key-values of one instance. A commit that sets one of them makes one of the calls read.
func TestHazard49_ValueWakesItsWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		const waiters = 1000
		h, s, key := NewHub(), newFakeStore(), provider.UUID{1}
		var over sync.WaitGroup
		for n := range waiters {
			over.Go(func() {
				req := provider.GetRequest{Value: fmt.Sprint(n), WaitValue: true, Wait: time.Minute}
				res, err := h.Await(t.Context(), nil, &req, key, s.source())
				if err != nil || res.Value == nil || res.Value.Key != req.Value {
					t.Errorf("waiter %d got %+v, %v", n, res.Value, err)
				}
			})
		}
		time.Sleep(2 * pollEvery) //nolint:forbidigo // of a bubble's clock; one poll finds nothing to compare with
		synctest.Wait()
		before := s.reads.Load()
		for n := range waiters {
			s.set(key, fmt.Sprint(n), "v")
			h.WakeFollowers([]provider.UUID{key, {2}}, &Effects{Values: []Followed{{key, fmt.Sprint(n)}}})
			synctest.Wait()
		}
		over.Wait()
		if reads := s.reads.Load() - before; reads != waiters {
			t.Errorf("%d commits, each of one key-value, cost %d reads", waiters, reads)
		}
		if len(h.follow.calls)+len(h.follow.stamps) != 0 || h.Followed() {
			t.Errorf("followers remain: %v", h.follow.calls)
		}
	})
}

// A change that wakes nobody is found by one poll for all, and the next call goes on when the poller leaves.
func TestHazard83_OneLookForAllFollowers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		const waiters = 100
		h, s := NewHub(), newFakeStore()
		var over sync.WaitGroup
		var took [waiters]time.Duration
		began := time.Now()
		for n := range waiters {
			over.Go(func() {
				req := provider.GetRequest{Mark: "seen", Wait: time.Minute}
				s.set(provider.UUID{byte(n), 1}, "", "seen")
				if _, err := h.Await(t.Context(), nil, &req, provider.UUID{byte(n), 1}, s.source()); err != nil {
					t.Error(err)
				}
				took[n] = time.Since(began)
			})
		}
		for n := range waiters {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // of a bubble's clock
			s.set(provider.UUID{byte(n), 1}, "", "changed")
		}
		over.Wait()
		for n, d := range took {
			changed := time.Duration(n+1) * 100 * time.Millisecond
			if late := d - changed; late < 0 || late > 2*pollEvery {
				t.Errorf("call %d returned %v after the change", n, late)
			}
		}
		if polls := s.polls.Load(); polls > 45 {
			t.Errorf("%d polls in %v", polls, time.Since(began))
		}
		if reads := s.reads.Load(); reads > 4*waiters {
			t.Errorf("%d calls read %d times", waiters, reads)
		}
	})
}

// This process changes a key-value, and another one changes it back: both changes are seen, although the second one leaves what polls compare as
// it was before the first.
func TestHazard83_AFormerValueIsSeen(t *testing.T) {
	t.Parallel()
	for _, between := range []bool{false, true} { // this process changes it between two calls, or during one
		synctest.Test(t, func(t *testing.T) { formerValueIsSeen(t, between) })
	}
}

func formerValueIsSeen(t *testing.T, between bool) {
	t.Helper()
	h, s := NewHub(), newFakeStore()
	changed, other := Followed{provider.UUID{1}, "v"}, Followed{provider.UUID{2}, "v"}
	// wait waits until the value differs from old, and returns whether it did.
	wait := func(what Followed, old string, atMost time.Duration) <-chan bool {
		over := make(chan bool, 1)
		go func() {
			req := provider.GetRequest{Value: what.Name, WaitValue: true, OldValue: []byte(old), Wait: atMost}
			res, err := h.Await(t.Context(), nil, &req, what.Key, s.source())
			over <- err == nil && string(res.Value.Value) != old
		}()
		return over
	}
	for _, what := range []Followed{changed, other} {
		s.set(what.Key, what.Name, "A")
	}
	last, seen := wait(other, "A", time.Minute), wait(changed, "A", 8*pollEvery)
	time.Sleep(4 * pollEvery) //nolint:forbidigo // of a bubble's clock
	s.still.Store(true)
	if between {
		<-seen
	}
	s.set(changed.Key, changed.Name, "BB")
	h.WakeFollowers(nil, &Effects{Values: []Followed{changed}})
	if !between && !<-seen {
		t.Error("the change of this process was not seen")
	}
	seen = wait(changed, "BB", time.Minute)
	time.Sleep(4 * pollEvery) //nolint:forbidigo // of a bubble's clock
	s.still.Store(false)
	s.set(changed.Key, changed.Name, "A")
	began := time.Now()
	if !<-seen || time.Since(began) > 4*pollEvery {
		t.Errorf("between calls: %v: the change of the other process was not seen in %v", between, time.Since(began))
	}
	s.set(other.Key, other.Name, "end")
	if !<-last {
		t.Error("the end was not seen")
	}
}

// A caller that follows a hot instance reads it ten times a second.
func TestHazard83_FollowersArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		h, s, key := NewHub(), newFakeStore(), provider.UUID{1}
		stop := make(chan struct{})
		var over sync.WaitGroup
		over.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					s.set(key, "", fmt.Sprint("v", n))
					h.WakeFollowers([]provider.UUID{key}, &Effects{})
				}
			}
		})
		req := provider.GetRequest{Mark: "v", Wait: time.Minute}
		for began := time.Now(); time.Since(began) < 10*time.Second; {
			res, err := h.Await(t.Context(), nil, &req, key, s.source())
			if err != nil || res.Mark == req.Mark {
				t.Fatalf("%q, %v", res.Mark, err)
			}
			req.Mark = res.Mark
		}
		close(stop)
		over.Wait()
		if reads := s.reads.Load(); reads < 90 || reads > 101 {
			t.Errorf("10 s cost %d reads", reads)
		}
	})
}

// Polls that take longer are rarer, but so that a change is seen within a second.
func TestPollsTakeAShare(t *testing.T) {
	t.Parallel()
	for slow, want := range map[time.Duration]int64{
		time.Millisecond:       20_000 / (250 + 1),
		3 * time.Millisecond:   20_000 / (100*3 + 3),
		100 * time.Millisecond: 20_000 / (500 + 100),
	} {
		synctest.Test(t, func(t *testing.T) {
			t.Helper()
			h, s := NewHub(), newFakeStore()
			s.slow = slow
			req := provider.GetRequest{Value: "v", WaitValue: true, Wait: 20 * time.Second}
			if _, err := h.Await(t.Context(), nil, &req, provider.UUID{1}, s.source()); err != nil {
				t.Error(err)
			}
			if polls := s.polls.Load(); polls < want-1 || polls > want+1 {
				t.Errorf("%d polls of %v in 20 s, want %d", polls, s.slow, want)
			}
		})
	}
}

// Calls that follow what does not change read when they begin and when they end, and once more after the first poll. A repeated call is
// known to the polls. While polls fail, each call reads by itself.
func TestHazard83_QuietFollowersReadLittle(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			t.Helper()
			const waiters, calls = 100, 3
			h, s := NewHub(), newFakeStore()
			s.broken.Store(broken)
			var over sync.WaitGroup
			for n := range waiters {
				key := provider.UUID{byte(n), 1}
				s.set(key, "", "seen")
				over.Go(func() {
					for range calls {
						req := provider.GetRequest{Mark: "seen", Wait: time.Minute}
						if _, err := h.Await(t.Context(), nil, &req, key, s.source()); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Duration(n) * time.Microsecond) //nolint:forbidigo // of a bubble's clock; there is always another one
					}
				})
			}
			over.Wait()
			least, most := int64(calls*2*waiters), int64((calls*2+1)*waiters+calls)
			if broken {
				least, most = calls*5*waiters, calls*5*waiters // at the beginning, every 15 s and at the end
			}
			if reads := s.reads.Load(); reads < least || reads > most {
				t.Errorf("polls that fail %v: %d calls of a minute read %d times, want %d to %d", broken, calls*waiters, reads, least, most)
			}
		})
	}
}

// An answer wakes its asker, who reads what it does not say.
func TestHazard49_AnswerWakesItsAsker(t *testing.T) {
	t.Parallel()
	h := NewHub()
	recheck, one, two := h.NextRecheck(), h.Expect(provider.UUID{1}), h.Expect(provider.UUID{2})
	h.Answered(provider.UUID{1})
	h.Reply(Answer{ID: provider.UUID{1}, Payload: []byte("a")})
	h.Answered(provider.UUID{1})
	if got := <-one; got.Unread || string(got.Payload) != "a" {
		t.Errorf("the asker got %+v", got)
	}
	select {
	case <-two:
		t.Error("another asker is woken")
	case <-recheck:
		t.Error("all calls are woken")
	default:
	}
}

// A poll that fails is reported at once, and only the first of several in a row.
func TestFailedPollIsReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, store := NewHub(), newFakeStore()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = hub.Await(ctx, nil, &provider.GetRequest{WaitValue: true, Value: "v", Wait: time.Minute}, provider.UUID{1}, store.source())
		}()
		for round := int64(1); round <= 2; round++ {
			store.broken.Store(true)
			time.Sleep(2 * time.Second) //nolint:forbidigo // of a bubble's clock
			if reported := store.reported.Load(); reported != round || store.polls.Load() < 3 {
				t.Errorf("%d of %d polls were reported, want %d", reported, store.polls.Load(), round)
			}
			store.broken.Store(false)
			time.Sleep(time.Second) //nolint:forbidigo // of a bubble's clock
		}
		cancel()
		<-done
	})
}
