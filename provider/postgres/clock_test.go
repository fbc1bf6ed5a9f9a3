package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// A failed statement returns no time, and does not drop the known one.
func TestClockOutlivesFailures(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const said = provider.Time(1 << 50)
		var c clock
		c.observe(said)
		time.Sleep(2 * resample) //nolint:forbidigo // in a synctest bubble
		c.observe(0)
		if at := c.now(); at != said.Add(2*resample) {
			t.Errorf("it is %d, %d after the storage spoke", at, at-said)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		if at := c.latest(); at != said {
			t.Errorf("the storage said %d last", at)
		}
	})
}

// However far the estimate lags behind the storage, no call stores a time before one that an earlier call returned.
func TestTimeDoesNotGoBackFromCallToCall(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	ctx := t.Context()
	create := func(name string) provider.Instance {
		t.Helper()
		res, err := p.Create(ctx, provider.CreateRequest{ID: name, Key: unique(), Commit: unique(), Name: "f", Message: text("start")})
		if err != nil {
			t.Fatal(err)
		}
		return res.Instance
	}
	first := create("first")
	for name, read := range map[string]func() (provider.Time, error){
		"stats": func() (provider.Time, error) {
			res, err := p.Stats(ctx, provider.StatsRequest{})
			return res.Now, err
		},
		"list": func() (provider.Time, error) {
			res, err := p.List(ctx, provider.ListRequest{Max: 1})
			return res.Now, err
		},
		"get": func() (provider.Time, error) {
			res, err := p.Get(ctx, provider.GetRequest{Key: first.Key})
			return res.Now, err
		},
		"inspect": func() (provider.Time, error) {
			res, err := p.Inspect(ctx, provider.InspectRequest{Kind: provider.InspectInstances})
			return res.Now, err
		},
		"record": func() (provider.Time, error) {
			res, err := p.Record(ctx, provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: "k"})
			return res.Now, err
		},
		"scan": func() (provider.Time, error) {
			res, err := p.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
			return res.Now, err
		},
		"lease": func() (provider.Time, error) {
			res, err := p.Lease(ctx, provider.LeaseRequest{Action: provider.LeaseAcquire, Name: "l", Owner: "o", Token: unique(), Duration: time.Hour})
			return res.Now, err
		},
		"turns": func() (provider.Time, error) {
			res, err := p.FetchTurns(ctx, provider.FetchTurnsRequest{Owner: "o", Token: unique(), Lease: time.Hour, Max: 1})
			return res.Now, err
		},
		"tasks": func() (provider.Time, error) {
			res, err := p.FetchTasks(ctx, provider.FetchTasksRequest{
				Owner: "o", Token: unique(), Lease: time.Hour, Max: 1, Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"a"}}},
			})
			return res.Now, err
		},
		"asks": func() (provider.Time, error) {
			res, err := p.FetchAsks(ctx, provider.FetchAsksRequest{Owner: "o", Lease: time.Hour, Max: 1})
			return res.Now, err
		},
	} {
		now, err := read()
		if err != nil || now == 0 {
			t.Fatalf("%s: at %d, %v", name, now, err)
		}
		c := &p.cache.clock
		c.mu.Lock()
		c.sample -= provider.Time(50 * time.Millisecond / time.Microsecond) // as after an answer that came late
		c.mu.Unlock()
		if made := create(name); made.CreatedAt < now {
			t.Errorf("%s returned a time, and the instance created next is from %v before it", name, now.Sub(made.CreatedAt))
		}
	}
}
