package kit_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A blocked call sees a change that comes between its look and its wait.
func TestBlockMissesNoChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := kit.NewHub(time.Hour)
		began, looks := time.Now(), 0
		got, err := kit.Block(t.Context(), h, time.Minute, func() (int, bool, error) {
			if looks++; looks == 1 {
				h.Changed()
			}
			return looks, looks == 2, nil
		})
		if got != 2 || err != nil || time.Since(began) != 0 {
			t.Errorf("look %d and error %v after %v, want the second look at once", got, err, time.Since(began))
		}
	})
}

func TestBlockEnds(t *testing.T) {
	t.Parallel()
	never := func() (int, bool, error) { return 7, false, nil }
	synctest.Test(t, func(t *testing.T) {
		h, began := kit.NewHub(0), time.Now()
		if got, err := kit.Block(t.Context(), h, time.Second, never); got != 7 || err != nil || time.Since(began) != time.Second {
			t.Errorf("got %d and error %v after %v, want the last result and none after 1s", got, err, time.Since(began))
		}
		began = time.Now()
		if _, err := kit.Block(t.Context(), h, time.Hour, never); err != nil || time.Since(began) != provider.MaxWait {
			t.Errorf("got error %v after %v, want none after %v", err, time.Since(began), provider.MaxWait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := kit.Block(ctx, h, time.Minute, never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want that of the context", err)
		}
		time.AfterFunc(time.Second, func() { h.Close(); h.Close() })
		for range 2 {
			if _, err := kit.Block(t.Context(), h, time.Minute, never); !errors.Is(err, provider.ErrClosed) {
				t.Errorf("got error %v, want ErrClosed", err)
			}
		}
	})
}

func TestClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ahead := provider.TimeOf(time.Now()).Add(time.Hour)
		c := kit.NewClock(ahead)
		if got := c.Now(); got != ahead {
			t.Errorf("it begins at %d, want the last time of the store, %d", got, ahead)
		}
		time.Sleep(time.Second) //nolint:forbidigo // of a bubble's clock
		if got := c.Now(); got != ahead.Add(time.Second) {
			t.Errorf("after a second it is %d, want %d", got, ahead.Add(time.Second))
		}
		if got, want := kit.NewClock(5).Now(), provider.TimeOf(time.Now()); got != want {
			t.Errorf("it begins at %d, want the time of the machine, %d", got, want)
		}
	})
}

func TestNoticesStop(t *testing.T) {
	t.Parallel()
	var n kit.Notices
	var got atomic.Int64
	stop := n.Notify(func(provider.Notice) { got.Add(1) })
	n.Tell(provider.Notice{}, provider.Notice{})
	stop()
	n.Tell(provider.Notice{})
	if got.Load() != 2 {
		t.Errorf("%d notices, want 2", got.Load())
	}
}

// A question is left to the owner of its instance for a while, if the fetch names another one.
func TestQuestionStaysAtHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, clock := kit.NewHub(0), kit.NewClock(0)
		to := kit.Asked{Instance: provider.Instance{Key: provider.NewKey("i"), Name: "orc"}, Owner: "a", OwnerUntil: clock.Now().Add(time.Hour)}
		q := kit.NewQuestions(h, clock.Now, func(context.Context, string, provider.UUID) (kit.Asked, error) { return to, nil })
		go func() {
			_, _ = q.Ask(t.Context(), provider.AskRequest{Key: to.Instance.Key, AskID: provider.NewKey("i"), Wait: time.Minute})
		}()
		synctest.Wait()
		for _, c := range []struct {
			owner string
			waits time.Duration
		}{{"a", 0}, {"", 0}, {"b", provider.AskHome}} {
			began := time.Now()
			got, err := q.FetchAsks(t.Context(), provider.FetchAsksRequest{
				Owner: c.owner, Capabilities: []provider.Capability{{Name: "orc"}}, Max: 1, Lease: time.Microsecond, Wait: time.Minute,
			})
			took := time.Since(began)
			if len(got.Asks) != 1 || err != nil || took > c.waits || c.waits > 0 && took < c.waits-10*time.Millisecond {
				t.Errorf("owner %q got %d questions and error %v after %v, want one after about %v", c.owner, len(got.Asks), err, took, c.waits)
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // of a bubble's clock: the lease ends
		}
		h.Close()
		synctest.Wait()
	})
}

// Pages of one row list every match once, the newest first, and the last page says so.
func TestPagesOfLists(t *testing.T) {
	t.Parallel()
	s := open()
	defer func() { _ = s.Close() }()
	for _, id := range []string{"a", "b", "other", "c"} {
		_, err := s.Create(t.Context(), provider.CreateRequest{
			ID: id, Key: provider.NewKey(id), Commit: provider.NewKey(id), Name: strings.TrimLeft(id, "abc") + "orc",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, req := "", provider.ListRequest{Max: 1, Filter: provider.Filter{Name: "orc"}}
	for more := true; more && len(got) < 9; more = req.Cursor != "" {
		page, err := s.List(t.Context(), req)
		if err != nil || len(page.Instances) != 1 {
			t.Fatalf("a page of %d and error %v, want one row", len(page.Instances), err)
		}
		got, req.Cursor = got+page.Instances[0].ID, page.Cursor
	}
	if got != "cba" {
		t.Errorf("listed %q, want \"cba\"", got)
	}
	req.Cursor = "nonsense"
	if _, err := s.List(t.Context(), req); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("a wrong cursor returned %v, want ErrInvalid", err)
	}
	count, err := s.Count(t.Context(), provider.CountRequest{Filter: req.Filter, Max: 2})
	if count.Count != 2 || count.Exact || err != nil {
		t.Errorf("got %+v and error %v, want 2, which is not exact", count, err)
	}
}
