package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// clockOf makes a schema whose functions replace the clock of the database, for connections of the returned URL. The
// function set moves that clock by an offset from the real one.
func clockOf(t *testing.T, schema string) (url string, set func(time.Duration)) {
	t.Helper()
	url = postgrestest.URL(t)
	clock := schema + "_clock"
	postgrestest.Exec(t, url,
		"CREATE SCHEMA "+clock, "CREATE TABLE "+clock+".off (by interval NOT NULL)", "INSERT INTO "+clock+".off VALUES ('0')",
		clockFunction(clock, "clock_timestamp"), clockFunction(clock, "transaction_timestamp"))
	t.Cleanup(func() { postgrestest.Exec(t, url, "DROP SCHEMA "+clock+" CASCADE") })
	return url + "&search_path=" + clock + ",pg_catalog", func(by time.Duration) {
		postgrestest.Exec(t, url, fmt.Sprintf("UPDATE %s.off SET by = '%d microseconds'", clock, by.Microseconds()))
	}
}

func clockFunction(schema, name string) string {
	return fmt.Sprintf(`CREATE FUNCTION %s.%s() RETURNS timestamptz VOLATILE LANGUAGE sql
		AS 'SELECT pg_catalog.%[2]s() + (SELECT by FROM %[1]s.off)'`, schema, name)
}

// stepped opens a store on a clock that a test sets, with a presence that the test makes beat.
func stepped(t *testing.T) (p *Provider, s *manualPresence, set func(time.Duration)) {
	t.Helper()
	schema := postgrestest.Schema(t, postgrestest.URL(t))
	url, set := clockOf(t, schema)
	p = opened(t, url, Options{Schema: schema})
	return p, watching(t, p), set
}

// watching lets a test make a process beat that waits for work, and so watches the clock.
func watching(t *testing.T, p *Provider) *manualPresence {
	t.Helper()
	s := byHand(t, p)
	s.serve("node", time.Hour)
	beat(t, s)
	return s
}

// waitsFor creates an instance that has done its first turn and waits for messages.
func waitsFor(t *testing.T, p *Provider, id string, timers ...provider.Timer) provider.Instance {
	t.Helper()
	in := create(t, p, id)
	c := turn(&in, 1)
	c.Events, c.Timers = [][]byte{[]byte("e")}, timers
	commit(t, p, c)
	in.Version, in.HistoryLength = c.Commit, 1
	return in
}

func namesOf(turns []provider.Turn) (ids []string) {
	for i := range turns {
		ids = append(ids, turns[i].Instance.ID)
	}
	slices.Sort(ids)
	return ids
}

// The clock of the database is set back by ten minutes. Items that were due at once are still taken, by this process
// and by one that does not know of steps. Items with a delay wait for the clock.
func TestHazard25_SetBackClockHidesNothingThatWaits(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-10 * time.Minute, -26 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			p, s, set := stepped(t)
			old := opened(t, p.db.pool.Config().ConnString(), Options{Schema: p.db.opts.Schema})
			byHand(t, old) // it does not read the clock, like an older release
			event := waitsFor(t, p, "event")
			delayed := createRequest("delayed start")
			delayed.Message.Delay = time.Microsecond
			if _, err := p.Create(t.Context(), delayed); err != nil {
				t.Fatal(err)
			}
			waitsFor(t, p, "timer", provider.Timer{EventID: 1, Due: event.CreatedAt.Add(time.Second)})
			instanceWith(t, p, "result", provider.NewTask{})
			completeTask(t, p)
			instanceWith(t, p, "task", provider.NewTask{})
			instanceWith(t, p, "delayed task", provider.NewTask{NotBefore: time.Hour})
			create(t, p, "start")
			send(t, p, event.Key, text("one"))
			send(t, p, event.Key, text("two"))
			for range 2 { // two readings before the step
				beat(t, s)
			}
			set(by)
			send(t, p, event.Key, text("three"))
			if turns := fetchTurns(t, p, turnsRequest()); !slices.Equal(namesOf(turns), []string{"event"}) {
				t.Fatalf("the step hides too little: fetched %v", namesOf(turns))
			} else {
				release(t, p, turns[0])
			}
			beat(t, s)
			const hidden = `SELECT count(*) FROM perdure.inbox WHERE visible_at > ` + sqlNow
			eventually(t, "only the timer and the delayed start wait for the clock", func() bool { return number(t, p, hidden) == 2 })
			got := fetchTurns(t, old, turnsRequest())
			if names := namesOf(got); !slices.Equal(names, []string{"event", "result", "start"}) {
				t.Errorf("fetched %v", names)
			}
			for i := range got {
				if m := got[i].Messages; got[i].Instance.Key == event.Key && (len(m) != 3 || m[0].ID > m[1].ID || m[1].ID > m[2].ID) {
					t.Errorf("the messages came as %+v", m)
				}
			}
			eventually(t, "the task is taken", func() bool { return len(takeTasks(t, old)) == 1 })
			for what, n := range wrong {
				if n := number(t, p, n); n != 0 {
					t.Errorf("%d %s", n, what)
				}
			}
		})
	}
}

// release gives a turn back.
func release(t *testing.T, p *Provider, turn provider.Turn) {
	t.Helper()
	exec(t, p, `UPDATE perdure.instance SET lease_token = NULL, lease_owner = '', lease_until = 0, fetch_at = ready_at, deliveries = 0
		WHERE key = $1`, uuid(turn.Instance.Key))
}

func takeTasks(t *testing.T, p *Provider) []provider.LeasedTask {
	t.Helper()
	res, err := p.FetchTasks(t.Context(), tasksRequest())
	if err != nil {
		t.Fatal(err)
	}
	return res.Tasks
}

// completeTask takes the only task and reports its result.
func completeTask(t *testing.T, p *Provider) {
	t.Helper()
	req := tasksRequest()
	fetched, err := p.FetchTasks(t.Context(), req)
	if err != nil || len(fetched.Tasks) != 1 {
		t.Fatalf("took %d tasks, %v", len(fetched.Tasks), err)
	}
	ref := fetched.Tasks[0].TaskRef
	res, err := p.ReportTasks(t.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{{
		TaskRef: ref, Token: provider.TaskToken(req.Token, ref), Attempt: 1, Outcome: provider.TaskComplete, Message: text("result"),
	}}})
	if err != nil || res.Items[0].Err != nil {
		t.Fatalf("reported %+v, %v", res, err)
	}
}

// A process that opens the store after the step learns of it from the stored stamps.
func TestHazard25_SetBackClockIsNoticedAtOpening(t *testing.T) {
	p, _, set := stepped(t)
	url, o := p.db.pool.Config().ConnString(), Options{Schema: p.db.opts.Schema}
	create(t, p, "start")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	set(-time.Hour)
	p = opened(t, url, o)
	watching(t, p)
	eventually(t, "the start is taken", func() bool { return len(fetchTurns(t, p, turnsRequest())) == 1 })
}

// The leases of a process that died before the step end as soon as any others. Its row is stamped in the future.
func TestHazard25_DeadProcessDoesNotLiveUntilTheClockComesBack(t *testing.T) {
	p, s, set := stepped(t)
	exec(t, p, `INSERT INTO perdure.process (id, owners, renewed_at) VALUES ('dead', '{dead}', `+sqlNow+`)`)
	beat(t, s)
	set(-time.Hour)
	beat(t, s)
	eventually(t, "the row is stamped anew", func() bool {
		return number(t, p, `SELECT count(*) FROM perdure.process WHERE id = 'dead' AND renewed_at <= `+sqlNow) == 1
	})
}

// A clock that is set forward, or corrected by less than a second, is no step back. Neither is a slow response.
func TestStepBackIsNoticedByReadings(t *testing.T) {
	longtest.Skip(t)
	const first = provider.Time(1 << 50)
	began := time.Now()
	for name, c := range map[string]struct {
		now      provider.Time
		from, to time.Duration
		stepped  bool
	}{
		"time passed":             {first.Add(time.Minute), time.Minute, time.Minute, false},
		"set forward":             {first.Add(time.Hour), time.Minute, time.Minute, false},
		"corrected":               {first.Add(time.Minute - 900*time.Millisecond), time.Minute, time.Minute, false},
		"an answer that was late": {first.Add(time.Second), time.Second, time.Minute, false},
		"set back":                {first.Add(50 * time.Second), time.Minute, time.Minute, true},
	} {
		s := &stepBack{db: &database{opts: Options{Logger: silent}}, steps: make(chan provider.Time, 1)}
		s.observe(first, 0, began, began)
		s.observe(c.now, 0, began.Add(c.from), began.Add(c.to))
		if stepped := len(s.steps) > 0; stepped != c.stepped {
			t.Errorf("%s: noticed a step: %v", name, stepped)
		} else if stepped {
			if latest := <-s.steps; latest != first.Add(c.to) {
				t.Errorf("%s: the clock showed at most %v before", name, latest.Sub(first))
			}
		}
	}
}

// Items that are scheduled with a delay after the step wait for it, however often the rest is restamped.
func TestDelayAfterAStepIsKept(t *testing.T) {
	longtest.Skip(t)
	p, s, set := stepped(t)
	waitsFor(t, p, "any")
	for range 2 {
		beat(t, s)
	}
	latest := provider.Time(number(t, p, `SELECT `+sqlNow))
	set(-10 * time.Minute)
	instanceWith(t, p, "delayed task", provider.NewTask{NotBefore: 5 * time.Minute})
	if err := p.stepBack.restampAll(latest); err != nil {
		t.Fatal(err)
	}
	if n := number(t, p, `SELECT count(*) FROM perdure.task WHERE fetch_at > `+sqlNow+` + 240000000`); n != 1 {
		t.Error("the delay of 5m is gone")
	}
}
