package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// sessions are the terms on which the tests take sessions.
var sessions = provider.SessionClaim{Max: 9, Lease: lease, Idle: lease}

// holdLeases takes a turn, and all tasks unless it is told not to, reports that, and waits for the end of its input.
func holdLeases(ctx context.Context, url, schema string) error {
	p, err := OpenWith(ctx, url, Options{Schema: schema})
	if err != nil {
		return err
	}
	turns := turnsRequest()
	turns.Owner, turns.Wait = "dead", lease
	if _, err := p.FetchTurns(ctx, turns); err != nil {
		return err
	}
	if os.Getenv(workerHolds) != "turn" {
		tasks := tasksRequest()
		tasks.Owner, tasks.Wait, tasks.Sessions = "dead", lease, sessions
		if _, err := p.FetchTasks(ctx, tasks); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(os.Stdout, "holds")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return p.Close()
}

// manualPresence is the presence of a process whose liveness checks a test makes.
type manualPresence struct {
	*presence

	p *Provider
}

// byHand stops the renewals of a process, so that a test makes them.
func byHand(t *testing.T, p *Provider) *manualPresence {
	t.Helper()
	s := p.presence
	s.cancel()
	s.ended.Wait()
	s.ctx, s.cancel = context.WithCancel(p.db.hard)
	s.ended.Go(func() {
		defer s.leave()
		<-s.ctx.Done()
	})
	return &manualPresence{s, p}
}

// beat makes one liveness check.
func beat(t *testing.T, s *manualPresence) {
	t.Helper()
	if _, err := s.checkLiveness(); err != nil {
		t.Fatal(err)
	}
}

// trust lets a process judge as if it had renewed its row for long enough.
func trust(s *manualPresence) { s.first = s.last.Add(-silence) }

// silenced makes all processes but one silent for long enough.
func silenced(t *testing.T, s *manualPresence) {
	t.Helper()
	exec(t, s.p, `UPDATE perdure.process SET renewed_at = renewed_at - $1 WHERE id <> $2`, silence.Microseconds(), s.process)
}

// instanceWith creates an instance with a task, which runs.
func instanceWith(t *testing.T, p *Provider, id string, task provider.NewTask) provider.Instance {
	t.Helper()
	in := create(t, p, id)
	c := turn(&in, 1)
	task.EventID, task.Queue, task.Name = 1, "q", "act"
	c.Events, c.Tasks = [][]byte{[]byte("e")}, []provider.NewTask{task}
	commit(t, p, c)
	in.Version, in.HistoryLength = c.Commit, 1
	return in
}

// A process with a turn, tasks and a session is killed. Others get them as soon as it was silent for long enough, and
// not before.
func TestHazard24_KilledNodeLosesItsLeases(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	url := postgrestest.URL(t)
	byHand(t, p)
	third := opened(t, url, Options{Schema: p.db.opts.Schema})
	s := byHand(t, third)
	create(t, p, "turn")
	instanceWith(t, p, "task", provider.NewTask{})
	instanceWith(t, p, "session", provider.NewTask{Session: "s"})
	paused := instanceWith(t, p, "paused", provider.NewTask{})
	worker, _ := startWorker(t, url, p.db.opts.Schema, workerHolds+"=1")
	steer := provider.SteerRequest{Key: paused.Key, Commit: unique(), Action: provider.SteerSuspend}
	if _, err := p.Steer(t.Context(), steer); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other process shows that it lives", func() bool {
		return number(t, p, `SELECT count(*) FROM perdure.process WHERE 'dead' = ANY(owners)`) == 1
	})
	listening(t, p)
	turned, tasked := fetchLater(t, third), fetchTasksLater(t, p) // the latter needs a notification
	beat(t, s)                                                    // it sees others
	beat(t, s)                                                    // it renews
	trust(s)
	beat(t, s)
	if len(turned)+len(tasked) > 0 {
		t.Fatal("the leases of a living process ended")
	}
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
	beat(t, s)
	if n := number(t, p, `SELECT count(*) FROM perdure.instance WHERE lease_owner = 'dead' AND lease_until > `+sqlNow); n != 1 {
		t.Fatal("the leases ended though nobody could know")
	}
	silenced(t, s)
	beat(t, s)
	if turns := <-turned; len(turns) != 1 {
		t.Errorf("fetched %d turns", len(turns))
	}
	got := <-tasked
	claim := tasksRequest()
	claim.Sessions = sessions
	res, err := p.FetchTasks(t.Context(), claim)
	if got += len(res.Tasks); err != nil || got != 2 {
		t.Errorf("fetched %d tasks, %v", got, err)
	}
	resume := provider.SteerRequest{Key: paused.Key, Commit: unique(), Action: provider.SteerResume}
	if _, err := p.Steer(t.Context(), resume); err != nil {
		t.Fatal(err)
	}
	if res, err := p.FetchTasks(t.Context(), tasksRequest()); err != nil || len(res.Tasks) != 1 {
		t.Errorf("of the instance that was suspended meanwhile: %d tasks, %v", len(res.Tasks), err)
	}
	silenced(t, s)
	beat(t, s)
	if n := number(t, p, `SELECT count(*) FROM perdure.process WHERE 'dead' = ANY(owners)`); n != 0 {
		t.Error("the row of the dead process stays")
	}
	checkConsistent(t, p)
}

// holder is a process that holds a task, and shows it.
func holder(t *testing.T, p *Provider, owner string) (s *manualPresence, task provider.LeasedTask, token provider.UUID) {
	t.Helper()
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	s = byHand(t, other)
	instanceWith(t, p, "of "+owner, provider.NewTask{})
	req := tasksRequest()
	req.Owner = owner
	var res provider.FetchTasksResult
	eventually(t, "the process knows the kind", func() (found bool) {
		var err error
		if res, err = other.FetchTasks(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		return len(res.Tasks) == 1
	})
	beat(t, s)
	return s, res.Tasks[0], req.Token
}

func renewal(t *testing.T, p *Provider, task provider.LeasedTask, token provider.UUID) error {
	t.Helper()
	res, err := p.RenewTasks(t.Context(), provider.RenewTasksRequest{
		Lease: lease, Items: []provider.TaskRenewal{{TaskRef: task.TaskRef, Token: token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res.Items[0].Err
}

// leased returns how many leases of tasks hold.
func leased(t *testing.T, p *Provider) int64 {
	t.Helper()
	return number(t, p, `SELECT count(*) FROM perdure.task WHERE state = 2 AND lease_until > `+sqlNow)
}

// After an outage of the database, or a jump of its clock, all rows are old. That makes nobody dead.
func TestHazard24_OutageKillsNobody(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	s := byHand(t, p)
	stopped, task, token := holder(t, p, "stopped")
	s.serve("survivor", lease)
	beat(t, s)
	beat(t, s)
	if s.limit() != 0 {
		t.Fatal("it judges though it has just begun to renew its row")
	}
	trust(s)

	// It was away as long as the others.
	exec(t, p, `UPDATE perdure.process SET renewed_at = renewed_at - $1`, silence.Microseconds())
	s.first, s.last = s.first.Add(-silence), s.last.Add(-silence)
	beat(t, s)
	if s.limit() != 0 || leased(t, p) != 1 {
		t.Fatal("it judges after a gap")
	}
	trust(s)

	// It could write as little as the others.
	exec(t, p, `ALTER TABLE perdure.process RENAME TO away`)
	if _, err := s.checkLiveness(); err == nil {
		t.Fatal("no error without the table")
	}
	exec(t, p, `ALTER TABLE perdure.away RENAME TO process`)
	silenced(t, s)
	beat(t, s)
	if s.limit() != 0 || leased(t, p) != 1 {
		t.Fatal("it judges after a failure")
	}

	// The other one comes too late, and gets the error.
	trust(s)
	beat(t, s)
	if n := leased(t, p); n != 0 {
		t.Fatalf("%d leases of a silent process hold", n)
	}
	res, err := p.FetchTasks(t.Context(), tasksRequest())
	if err != nil || len(res.Tasks) != 1 || res.Tasks[0].Deliveries != 2 {
		t.Fatal(res, err)
	}
	if err := renewal(t, stopped.p, task, token); !errors.Is(err, provider.ErrLeaseLost) {
		t.Errorf("a process that was taken for dead renews: %v", err)
	}
	beat(t, stopped)
	silenced(t, stopped) // all others
	trust(s)
	beat(t, s)
	if n := leased(t, p); n != 1 {
		t.Error("the survivor's own lease ended")
	}
}

// An owner is dead only if a process served it, and all that did are dead.
func TestHazard24_OwnersInDoubtLive(t *testing.T) {
	p := store(t)
	s := byHand(t, p)
	var all []*manualPresence
	for _, owner := range []string{"unknown", "both", "dead"} {
		one, _, _ := holder(t, p, owner)
		all = append(all, one)
	}
	exec(t, p, `DELETE FROM perdure.process WHERE id = $1`, all[0].process)
	s.serve("both", lease)
	beat(t, s)
	trust(s)
	silenced(t, s)
	beat(t, s)
	for owner, want := range map[string]int64{"unknown": 1, "both": 1, "dead": 0} {
		if n := number(t, p, `SELECT count(*) FROM perdure.task WHERE owner = $1 AND lease_until > `+sqlNow, owner); n != want {
			t.Errorf("%s holds %d leases, want %d", owner, n, want)
		}
	}
}

// A process that closes the store leaves no lease behind, and others learn of it at once. An owner that another process
// serves, too, continues.
func TestHazard24_ClosedStoreKeepsNoLeases(t *testing.T) {
	p := store(t)
	byHand(t, p)
	both, _, _ := holder(t, p, "both")
	conn := listener(t, p)
	rounds := int64(0)
	inSomeRound(t, func() error {
		rounds++
		owner := fmt.Sprint("gone", rounds)
		gone, _, _ := holder(t, p, owner)
		gone.serve("both", lease)
		beat(t, both)
		listening(t, p)
		fetched := fetchTasksLater(t, p)
		stop := busy(t, conn, gone.p)
		began := time.Now()
		err := gone.p.Close()
		stop()
		if err != nil {
			t.Fatal(err)
		}
		exec(t, p, `SELECT pg_notify($1, '{"n":"end"}')`, p.notifier.channel)
		if !says(t, conn, gone.p.notifier.node, func(s *signal) bool { return len(s.Tasks) > 0 }) {
			t.Fatal("it has told nobody of its tasks")
		}
		n := <-fetched
		took := time.Since(began)
		if n != 1 {
			t.Fatalf("fetched %d tasks after %v", n, took)
		}
		if n := leased(t, p); n != rounds+1 {
			t.Fatalf("%d tasks are leased, want those that were fetched and that of the living process", n)
		}
		if n := number(t, p, `SELECT count(*) FROM perdure.process WHERE $1 = ANY(owners)`, owner); n != 0 {
			t.Fatal("its row stays")
		}
		if took > fallback/2 {
			return fmt.Errorf("others learn of it after %v", took)
		}
		return nil
	})
}

// busy makes a process send signals one after another, and gather each for as long as it ever does. So it has not sent its last
// signal when it closes.
func busy(t *testing.T, conn *pgx.Conn, p *Provider) (stop func()) {
	t.Helper()
	for n := range maxPeers {
		p.notifier.peers.observe(fmt.Sprintf(`{"n":"%016x"`, n), time.Now())
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			fx := relational.NewEffects()
			fx.Asks = true
			p.notifier.hint(&fx)
			<-tick.C
		}
	}()
	says(t, conn, p.notifier.node, func(s *signal) bool { return s.Asks })
	return stop
}

func fetchTasksLater(t *testing.T, p *Provider) <-chan int {
	t.Helper()
	fetched := make(chan int, 1)
	go func() {
		req := tasksRequest()
		req.Wait = lease
		res, err := p.FetchTasks(t.Context(), req)
		if err != nil {
			t.Error(err)
		}
		fetched <- len(res.Tasks)
	}()
	awaitWaiting(t, p)
	return fetched
}

// A process shows that it lives as long as it has leases, however it got them, and writes nothing otherwise.
func TestIdleProcessIsSilent(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	s := byHand(t, p)
	rows := func() int64 { return number(t, p, `SELECT count(*) FROM perdure.process`) }
	fetched := fetchTasksLater(t, p)
	beat(t, s)
	if n := rows(); n != 0 {
		t.Errorf("%d rows of a process that waits for work", n)
	}
	in := instanceWith(t, p, "in", provider.NewTask{Lease: &provider.TaskLease{Token: unique(), Owner: "node", Duration: lease}})
	beat(t, s)
	if n := rows(); n != 1 {
		t.Errorf("%d rows of a process to which a commit has leased a task", n)
	}
	s.until = time.Time{}
	beat(t, s)
	if n := rows(); n != 0 || s.stored {
		t.Errorf("%d rows of a process whose leases are over", n)
	}
	send(t, p, in.Key, text("m"))
	fetchTurns(t, p, turnsRequest())
	beat(t, s)
	if n := rows(); n != 1 {
		t.Errorf("%d rows of a process that has fetched a turn", n)
	}
	s.until = time.Time{}
	beat(t, s)
	task := provider.LeasedTask{TaskRef: provider.TaskRef{Key: in.Key, Execution: 1, EventID: 1}}
	if err := renewal(t, p, task, unique()); !errors.Is(err, provider.ErrLeaseLost) {
		t.Error(err)
	}
	instanceWith(t, p, "next", provider.NewTask{})
	<-fetched
	beat(t, s)
	if n := rows(); n != 1 {
		t.Errorf("%d rows of a process that has fetched a task", n)
	}
}

// A call that names an owner which is no valid text is refused, and the process still renews its row.
func TestInvalidOwnerDoesNotStopRenewals(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	s := byHand(t, p)
	req := createRequest("in")
	req.First = firstTurn(&req)
	req.First.Tasks[0].Lease.Owner = "a\x00b"
	if _, err := p.Create(t.Context(), req); !errors.Is(err, provider.ErrInvalid) {
		t.Fatalf("create: %v", err)
	}
	c := begun(t, p, "other")
	c.Tasks = []provider.NewTask{{EventID: 3, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: unique(), Owner: "a\x00b", Duration: lease}}}
	if _, err := p.CommitTurn(t.Context(), c); !errors.Is(err, provider.ErrInvalid) {
		t.Fatalf("commit: %v", err)
	}
	beat(t, s)
}
