package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// onStandby makes a piggybacked claim, after which a standby listens. No fetch polls without a good reason.
func onStandby(t *testing.T, p *Provider) {
	t.Helper()
	p.waiters.standbyFor = time.Hour
	listening(t, p)
	create(t, p, unique().String()) // its kind is known from now on
	fetchTurns(t, p, turnsRequest())
	eventually(t, "a claim is piggybacked", func() bool {
		got := fetchLater(t, p)
		if len(got) > 0 { // it found what was ready; one more start would be what the next one finds
			<-got
			return false
		}
		create(t, p, unique().String())
		<-got
		p.waiters.mu.Lock()
		defer p.waiters.mu.Unlock()
		return len(p.waiters.standbys) == 1
	})
}

// fetchWaiting fetches one turn. A fetch polls at the end of its wait, whatever it was notified of. That is too late.
func fetchWaiting(t *testing.T, p *Provider) provider.Instance {
	t.Helper()
	req := turnsRequest()
	req.Wait = 10 * time.Second
	began := time.Now()
	turns := fetchTurns(t, p, req)
	if took := time.Since(began); len(turns) != 1 || took > req.Wait/2 {
		t.Fatalf("fetched %d turns after %v", len(turns), took)
	}
	return turns[0].Instance
}

// A node that takes turns as they come neither polls in between nor claims in transactions of its own.
func TestNoPollAfterAPiggybackedClaim(t *testing.T) {
	longtest.Skip(t)
	p, w := counting(t)
	onStandby(t, p)
	const turns = 5
	trips := int64(0)
	for range maxRuns { // one of them counts; others may include more, such as renewing the row of the process
		before := w.trips.Load()
		for range turns {
			got := fetchLater(t, p)
			create(t, p, unique().String())
			<-got
		}
		if trips = w.trips.Load() - before; trips == turns {
			return
		}
	}
	t.Errorf("%d round trips for %d starts, each with the claim of its turn", trips, turns)
}

// Between two fetches nobody waits. Work that becomes ready then wakes the next fetch, wherever it comes from.
func TestNothingIsMissedBetweenFetches(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	onStandby(t, p)
	here := create(t, p, "here")
	if in := fetchWaiting(t, p); in.Key != here.Key {
		t.Errorf("fetched %s", in.ID)
	}
	onStandby(t, p)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	there := create(t, other, "there")
	if in := fetchWaiting(t, p); in.Key != there.Key {
		t.Errorf("fetched %s", in.ID)
	}
}

// An earlier fetch learned what is due later: by its poll, or since.
func TestFetchWithAStandbyKeepsTheTime(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	p.waiters.standbyFor = time.Hour
	for delay := 100 * time.Millisecond; ; delay *= 2 {
		later := createRequest("later by " + delay.String())
		later.Message.Delay = delay
		res, err := p.Create(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		onStandby(t, p)
		if in := get(t, p, res.Instance.Key); in.Deliveries > 0 {
			continue // on a busy machine an earlier fetch has it
		}
		if in := fetchWaiting(t, p); in.ID != later.ID {
			t.Errorf("fetched %s", in.ID)
		}
		break
	}
	onStandby(t, p)
	later := createRequest("later still")
	later.Message.Delay = 100 * time.Millisecond
	if _, err := p.Create(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if in := fetchWaiting(t, p); in.ID != "later still" {
		t.Errorf("fetched %s", in.ID)
	}
}

// A claim shows nothing about what other nodes would find, or the same node by another request.
func TestStandbyServesTheSameRequestOnly(t *testing.T) {
	longtest.Skip(t)
	req := turnsRequest()
	req.Ahead, req.EngineLevel = time.Second, 1
	created := func() *standby {
		return &standby{req: req, call: &waitingFetch{woken: make(chan struct{}, 1)}, until: time.Now().Add(time.Hour)}
	}
	if again := req; !created().serves(&again) {
		t.Error("the same request is to poll")
	}
	for what, change := range map[string]func(*provider.FetchTurnsRequest, *standby){
		"other owner":        func(r *provider.FetchTurnsRequest, _ *standby) { r.Owner = "other" },
		"more code":          func(r *provider.FetchTurnsRequest, _ *standby) { r.Capabilities = append(r.Capabilities, orc...) },
		"newer engine":       func(r *provider.FetchTurnsRequest, _ *standby) { r.EngineLevel++ },
		"further ahead":      func(r *provider.FetchTurnsRequest, _ *standby) { r.Ahead *= 2 },
		"something is there": func(_ *provider.FetchTurnsRequest, r *standby) { r.call.wake() },
		"long ago":           func(_ *provider.FetchTurnsRequest, r *standby) { r.until = time.Now() },
	} {
		req, standby := req, created()
		change(&req, standby)
		if standby.serves(&req) {
			t.Errorf("%s: it need not poll", what)
		}
	}
}

// A node that never fetches again leaves nothing behind that gets each signal.
func TestStandbyOfANodeThatHasGoneIsForgotten(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	s := p.waiters
	s.mu.Lock()
	s.standbys["gone"] = &standby{call: &waitingFetch{wants: func(*signal) bool { return false }}}
	s.mu.Unlock()
	fetchTurns(t, p, turnsRequest())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standbys["gone"] != nil {
		t.Error("it stays")
	}
}
