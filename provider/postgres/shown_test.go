package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// unshown makes the database refuse the commit of a lease whose owner no process shows.
func unshown(t *testing.T, p *Provider) {
	t.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION perdure.shown() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE o text; BEGIN
			o := CASE TG_TABLE_NAME WHEN 'task' THEN to_jsonb(NEW)->>'owner' ELSE to_jsonb(NEW)->>'lease_owner' END;
			IF o <> '' AND NOT EXISTS (SELECT FROM perdure.process n WHERE o = ANY(n.owners)) THEN
				RAISE EXCEPTION 'no process shows %', o; END IF; RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER shown AFTER INSERT OR UPDATE ON perdure.instance DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION perdure.shown()`,
		`CREATE CONSTRAINT TRIGGER shown AFTER INSERT OR UPDATE ON perdure.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION perdure.shown()`,
	} {
		exec(t, p, sql)
	}
}

// When a process gets its first lease, in whatever way, its row already names the owner. Otherwise nobody would end the
// lease if it was killed now.
func TestHazard24_FirstLeaseIsShown(t *testing.T) {
	p := store(t)
	unshown(t, p)
	handed := func(owner string) []provider.NewTask {
		return []provider.NewTask{{EventID: 1, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: unique(), Owner: owner, Duration: lease}}}
	}
	for name, take := range map[string]func(t *testing.T, other *Provider){
		"turn": func(t *testing.T, other *Provider) {
			create(t, p, "turn")
			req := turnsRequest()
			req.Owner = "turn"
			if turns := fetchTurns(t, other, req); len(turns) != 1 {
				t.Errorf("fetched %d turns", len(turns))
			}
		},
		"turn that is waited for": func(t *testing.T, other *Provider) {
			fetched := fetchLater(t, other)
			create(t, other, "waited")
			if turns := <-fetched; len(turns) != 1 {
				t.Errorf("fetched %d turns", len(turns))
			}
		},
		"task": func(t *testing.T, other *Provider) {
			instanceWith(t, p, "task", provider.NewTask{})
			req := tasksRequest()
			req.Owner = "task"
			if res, err := other.FetchTasks(t.Context(), req); err != nil || len(res.Tasks) != 1 {
				t.Errorf("fetched %d tasks, %v", len(res.Tasks), err)
			}
		},
		"session": func(t *testing.T, other *Provider) {
			instanceWith(t, p, "session", provider.NewTask{Session: "s"})
			req := tasksRequest()
			req.Owner, req.Sessions = "session", sessions
			if res, err := other.FetchTasks(t.Context(), req); err != nil || len(res.Tasks) != 1 {
				t.Errorf("fetched %d tasks, %v", len(res.Tasks), err)
			}
		},
		"task of a commit": func(t *testing.T, other *Provider) {
			in := create(t, other, "commit")
			c := turn(&in, 1)
			c.Events, c.Tasks = [][]byte{[]byte("e")}, handed("commit")
			commit(t, other, c)
		},
		"task of a first turn": func(t *testing.T, other *Provider) {
			req := createRequest("first")
			req.First = firstTurn(&req)
			req.First.Tasks[0].Lease.Owner = "first"
			if _, err := other.Create(t.Context(), req); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
			byHand(t, other)
			take(t, other)
		})
	}
}

// A process is killed as soon as it holds its first lease. Another one that waits for work gets it long before the
// lease expires.
func TestHazard24_KilledAtItsFirstLease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits until a process counts as dead")
	}
	p := store(t)
	byHand(t, p)
	in := create(t, p, "turn")
	worker, _ := startWorker(t, postgrestest.URL(t), p.db.opts.Schema, workerHolds+"=turn")
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
	if n := number(t, p, `SELECT count(*) FROM perdure.process WHERE 'dead' = ANY(owners)`); n != 1 {
		t.Fatalf("%d rows name the owner", n)
	}
	until := number(t, p, `SELECT lease_until FROM perdure.instance WHERE key = $1`, uuid(in.Key))
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	req := turnsRequest()
	req.Wait = lease
	began := time.Now()
	turns := fetchTurns(t, other, req)
	if len(turns) != 1 || number(t, p, `SELECT `+sqlNow) >= until {
		t.Errorf("fetched %d turns after %v", len(turns), time.Since(began))
	}
	t.Logf("taken over after %v", time.Since(began))
}
