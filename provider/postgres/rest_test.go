package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// rests returns a store in which a claim has just ridden along. No fetch looks without a good reason.
func rests(t *testing.T, p *Provider) {
	t.Helper()
	p.parking.restFor = time.Hour
	listening(t, p)
	create(t, p, unique().String()) // its kind is known from now on
	fetchTurns(t, p, turnsRequest())
	eventually(t, "a claim rides along", func() bool {
		got := fetchLater(t, p)
		if len(got) > 0 { // it found what was ready; one more start would be what the next one finds
			<-got
			return false
		}
		create(t, p, unique().String())
		<-got
		p.parking.mu.Lock()
		defer p.parking.mu.Unlock()
		return len(p.parking.resting) == 1
	})
}

// fetchWaiting fetches one turn. A fetch looks at the end of its wait, whatever it heard; that is too late.
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

// A node that takes turns as they come neither looks in between nor claims in transactions of its own.
func TestNoLookAfterAClaimThatRodeAlong(t *testing.T) {
	longtest.Skip(t)
	p, w := counting(t)
	rests(t, p)
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

// Between two fetches nobody is parked. Work that becomes ready then wakes the next fetch, wherever it comes from.
func TestNothingIsMissedBetweenFetches(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	rests(t, p)
	here := create(t, p, "here")
	if in := fetchWaiting(t, p); in.Key != here.Key {
		t.Errorf("fetched %s", in.ID)
	}
	rests(t, p)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	there := create(t, other, "there")
	if in := fetchWaiting(t, p); in.Key != there.Key {
		t.Errorf("fetched %s", in.ID)
	}
}

// An earlier fetch heard of what is due later: at its look, or since.
func TestFetchThatRestsKeepsTheTime(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	p.parking.restFor = time.Hour
	for delay := 100 * time.Millisecond; ; delay *= 2 {
		later := createRequest("later by " + delay.String())
		later.Message.Delay = delay
		res, err := p.Create(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		rests(t, p)
		if in := get(t, p, res.Instance.Key); in.Deliveries > 0 {
			continue // on a busy machine an earlier fetch has it
		}
		if in := fetchWaiting(t, p); in.ID != later.ID {
			t.Errorf("fetched %s", in.ID)
		}
		break
	}
	rests(t, p)
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
func TestRestServesTheSameRequestOnly(t *testing.T) {
	longtest.Skip(t)
	of := turnsRequest()
	of.Ahead, of.EngineLevel = time.Second, 1
	made := func() *rest {
		return &rest{of: of, call: &parked{wake: make(chan struct{}, 1)}, until: time.Now().Add(time.Hour)}
	}
	if again := of; !made().serves(&again) {
		t.Error("the same request is to look")
	}
	for what, change := range map[string]func(*provider.FetchTurnsRequest, *rest){
		"other owner":        func(r *provider.FetchTurnsRequest, _ *rest) { r.Owner = "other" },
		"more code":          func(r *provider.FetchTurnsRequest, _ *rest) { r.Capabilities = append(r.Capabilities, orc...) },
		"newer engine":       func(r *provider.FetchTurnsRequest, _ *rest) { r.EngineLevel++ },
		"further ahead":      func(r *provider.FetchTurnsRequest, _ *rest) { r.Ahead *= 2 },
		"something is there": func(_ *provider.FetchTurnsRequest, r *rest) { r.call.rouse() },
		"long ago":           func(_ *provider.FetchTurnsRequest, r *rest) { r.until = time.Now() },
	} {
		req, rest := of, made()
		change(&req, rest)
		if rest.serves(&req) {
			t.Errorf("%s: it need not look", what)
		}
	}
}

// A node that never fetches again leaves nothing behind that hears each signal.
func TestRestOfANodeThatHasGoneIsForgotten(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	s := p.parking
	s.mu.Lock()
	s.resting["gone"] = &rest{call: &parked{wants: func(*signal) bool { return false }}}
	s.mu.Unlock()
	fetchTurns(t, p, turnsRequest())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting["gone"] != nil {
		t.Error("it stays")
	}
}
