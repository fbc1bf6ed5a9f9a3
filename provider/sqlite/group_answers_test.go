package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/raced"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How the next COMMIT ends.
const (
	commitsWell    int32 = iota
	commitNotSaid        // it is stored, and the storage says that it failed
	commitNotMade        // it is not stored, and nobody can tell
	commitRefused        // by a constraint that is checked there
	commitsOutcome       // how many there are
)

var errByTest = errors.New("by the test")

// failing are the statements of a writer whose next COMMIT ends as told.
type failing struct {
	statements

	commit atomic.Int32
	before func() // is called before a COMMIT that fails
}

func (f *failing) exec(sql string, args ...any) (int64, error) {
	if sql != "COMMIT" {
		return f.statements.exec(sql, args...)
	}
	how := f.commit.Swap(commitsWell)
	if how != commitsWell && f.before != nil {
		f.before()
	}
	switch how {
	case commitNotSaid:
		if _, err := f.statements.exec(sql, args...); err != nil {
			return 0, err
		}
		return 0, errByTest
	case commitNotMade:
		return 0, errByTest
	case commitRefused:
		if _, err := f.statements.exec(`PRAGMA defer_foreign_keys = on`); err != nil {
			return 0, err
		}
		if _, err := f.statements.exec(`INSERT INTO test_child VALUES (1)`); err != nil {
			return 0, err
		}
	}
	return f.statements.exec(sql, args...)
}

// failingStore makes a store whose COMMIT can be made to fail.
func failingStore(t *testing.T) (*Provider, *failing) {
	t.Helper()
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off})
	f := &failing{}
	w := p.store.writer
	w.lock.Lock()
	defer w.lock.Unlock()
	f.statements = w.tx.db
	w.tx.db = f
	for _, sql := range []string{
		`CREATE TABLE test_parent (n INTEGER PRIMARY KEY)`,
		`CREATE TABLE test_child (n INTEGER REFERENCES test_parent (n) DEFERRABLE INITIALLY DEFERRED)`,
	} {
		if _, err := f.statements.exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	return p, f
}

// Two members create one ID, and the group is not stored, or nobody knows whether it is. Then nobody hears that the ID exists, and nobody
// hears anything before the group ends.
func TestHazard95_NobodyHearsOfWhatIsNotStored(t *testing.T) {
	t.Parallel()
	for how := range commitsOutcome {
		p, f := failingStore(t)
		other := create(t, p, "other", "nobody")
		release := hold(t, p)
		heard, early := make([]chan error, 3), false
		for i, call := range []func() error{
			func() error { return createIn(t.Context(), p, "same") },
			func() error { return createIn(t.Context(), p, "same") },
			func() error {
				_, err := p.Send(t.Context(), provider.SendRequest{Key: other.Key, Message: provider.NewMessage{Payload: payload}})
				return err
			},
		} {
			heard[i] = make(chan error, 1)
			go func() { heard[i] <- call() }()
			await(t, "the member", func() bool { return queued(p) == i+1 })
		}
		f.before = func() {
			for _, m := range p.store.writer.group {
				select {
				case <-m.Done:
					early = true
				default:
				}
			}
		}
		f.commit.Store(how)
		release()
		errs := []error{<-heard[0], <-heard[1], <-heard[2]}
		if early {
			t.Error("a member was answered before its group was stored")
		}
		if how == commitsWell {
			if errs[0] != nil || !errors.Is(errs[1], provider.ErrExists) || errs[2] != nil {
				t.Errorf("a group that is stored: %v", errs)
			}
			continue
		}
		want := provider.OutcomeUnknown
		if how == commitRefused {
			want = provider.OutcomeNothing
		}
		for i, err := range errs {
			if errors.Is(err, provider.ErrExists) || err == nil || provider.OutcomeOf(err) != want {
				t.Errorf("commit %d: member %d returns %v (%v)", how, i, err, provider.OutcomeOf(err))
			}
		}
		// The next calls go by what is stored.
		if err := createIn(t.Context(), p, "same"); errors.Is(err, provider.ErrExists) != (how == commitNotSaid) || how != commitNotSaid && err != nil {
			t.Errorf("commit %d: the next create returns %v", how, err)
		}
	}
}

// member queues a call of this process, whose member change may change. It returns what its caller hears.
func (s *stage) member(scene raced.Scene, call raced.Call, change func(*relational.Member)) <-chan string {
	s.t.Helper()
	heard, queued, enqueue := make(chan string, 1), make(chan struct{}), s.p.calls.Enqueue
	s.p.calls.Enqueue = func(ctx context.Context, m *relational.Member, urgent bool) error {
		change(m)
		queue := s.p.store.writer.queue
		queue.Submit(m, urgent)
		close(queued)
		return queue.Wait(ctx, s.p.door.Closing, m)
	}
	go func() { heard <- call.Do(s.t.Context(), provider.FullOf(s.p), scene) }()
	select {
	case <-queued:
	case text := <-heard:
		s.t.Errorf("%q is no member of a group: %s", call.Name, text)
		heard <- text
	}
	s.p.calls.Enqueue = enqueue
	return heard
}

// members are the calls that groups carry out, and that fetch nothing.
func members() (list []raced.Call) {
	for _, c := range raced.Calls() {
		if !c.Fetches && c.Name != "deletion" {
			list = append(list, c)
		}
	}
	return list
}

// A member that is refused after all its work leaves nothing in its group: neither rows nor what a later member of the group would go by.
func TestHazard96_RefusedMemberLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off}))
	for i, call := range members() {
		for j, state := range raced.States() {
			if testing.Short() && (i+3*j)%16 != 0 {
				continue
			}
			scene, began := s.scene(state)
			release := hold(t, s.p)
			s.member(scene, call, func(m *relational.Member) {
				run := m.Run
				m.Run = func(t *relational.Tx) error {
					if err := run(t); err != nil {
						return err
					}
					return fmt.Errorf("%w: %w", errByTest, provider.ErrConflict)
				}
			})
			heard := s.member(scene, call, func(*relational.Member) {})
			release()
			got := ending{Heard: [2]string{<-heard}}
			got.Rows = scene.Plain(s.rows(), began)
			if want := s.sequence(state, call); got.Heard != want.Heard || !slices.Equal(got.Rows, want.Rows) {
				t.Errorf("%s: %q after a refused one in its group (-alone +after it):\n%s", state, call.Name, cmp.Diff(want, got))
			}
		}
	}
}

// Members of a group end as calls that come one after the other.
func TestHazard96_MembersSeeWhatTheirGroupDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t, openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off}))
	all, mine := members(), raced.Share(t, 6)
	for i, one := range all {
		for j, two := range all {
			if two.After != one.Name && (i+7*j)%397 != 0 && !mine(i, j) {
				continue
			}
			state := raced.State((i + j) % 2)
			scene, began := s.scene(state)
			release := hold(t, s.p)
			said := s.member(scene, one, func(*relational.Member) {})
			heard := s.member(scene, two, func(*relational.Member) {})
			release()
			got := ending{Heard: [2]string{<-said, <-heard}}
			got.Rows = scene.Plain(s.rows(), began)
			want := s.sequence(state, one, two)
			if two.Name == "renewal" { // it goes first
				want = s.sequence(state, two, one)
				want.Heard[0], want.Heard[1] = want.Heard[1], want.Heard[0]
			}
			if got.Heard != want.Heard || !slices.Equal(got.Rows, want.Rows) {
				t.Errorf("%s: %q and %q in a group (-one after the other +in a group):\n%s", state, one.Name, two.Name, cmp.Diff(want, got))
			}
		}
	}
}

// What SQLite refuses only as the rows are written fails its member alone, in whichever row it is.
func TestHazard96_RowsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newStage(t, openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off}))
	for table, refused := range map[string]string{
		"instance": `CREATE TRIGGER refused BEFORE UPDATE ON perdure_instance WHEN new.id LIKE 'x~%' BEGIN SELECT RAISE(ABORT, 'by the test'); END`,
		"history":  `CREATE TRIGGER refused BEFORE INSERT ON perdure_history BEGIN SELECT RAISE(ABORT, 'by the test'); END`,
		"task":     `CREATE TRIGGER refused BEFORE INSERT ON perdure_task BEGIN SELECT RAISE(ABORT, 'by the test'); END`,
		"outcome":  `CREATE TRIGGER refused BEFORE INSERT ON perdure_outcome BEGIN SELECT RAISE(ABORT, 'by the test'); END`,
	} {
		call, _ := raced.Named(map[string]string{"instance": "turn", "history": "turn", "task": "lane", "outcome": "end"}[table])
		scene, began := s.scene(raced.Leased)
		if _, err := s.file.ExecContext(t.Context(), refused); err != nil {
			t.Fatal(err)
		}
		before := scene.Plain(s.rows(), began)
		release := hold(t, s.p)
		first, _ := raced.Named("rival start")
		heard := []<-chan string{s.member(scene, first, func(*relational.Member) {}), s.member(scene, call, func(*relational.Member) {})}
		release()
		if got := <-heard[0]; !strings.HasPrefix(got, "ok") {
			t.Errorf("%s: another member of the group heard %s", table, got)
		}
		if got := <-heard[1]; !strings.HasPrefix(got, "failed, "+provider.OutcomeNothing.String()) {
			t.Errorf("%s: the refused member heard %s", table, got)
		}
		after := slices.DeleteFunc(scene.Plain(s.rows(), began), func(row string) bool { return strings.Contains(row, "<third>") })
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s: the refused member left:\n%s", table, diff)
		}
		if _, err := s.file.ExecContext(t.Context(), `DROP TRIGGER refused`); err != nil {
			t.Fatal(err)
		}
	}
}

// The COMMIT of a call fails. It is stored or not. If its caller is told which, that is true. The next call goes by what is stored, not by what
// was cached.
func TestHazard100_CommitFails(t *testing.T) {
	t.Parallel()
	p, f := failingStore(t)
	s := newStage(t, p)
	probe, _ := raced.Named("message")
	failures := 0
	for i, call := range members() {
		for how := commitNotSaid; how < commitsOutcome; how++ {
			if testing.Short() && (i+int(how))%6 != 0 {
				continue
			}
			state := raced.State((i + int(how)) % 2)
			scene, began := s.scene(state)
			f.commit.Store(how)
			heard := call.Do(t.Context(), provider.FullOf(p), scene)
			if f.commit.Swap(commitsWell) != commitsWell {
				continue // it was refused and stored nothing
			}
			failures++
			got := ending{Heard: [2]string{heard, probe.Do(t.Context(), provider.FullOf(p), scene)}}
			got.Rows = scene.Plain(s.rows(), began)
			want := s.sequence(state, probe)
			if want.Heard = [2]string{"", want.Heard[0]}; how == commitNotSaid {
				want = s.sequence(state, call, probe)
			}
			told := "failed, " + provider.OutcomeUnknown.String()
			if how == commitRefused {
				told = "failed, " + provider.OutcomeNothing.String()
			}
			if !strings.HasPrefix(heard, told) || got.Heard[1] != want.Heard[1] || !slices.Equal(got.Rows, want.Rows) {
				t.Errorf("%s: %q, commit %d, heard %q (-stored +got):\n%s", state, call.Name, how, heard, cmp.Diff(want, got))
			}
		}
	}
	t.Logf("%d commits failed", failures)
	if failures == 0 {
		t.Error("no commit failed")
	}
}

// The COMMIT of a group fails that has the claim of a waiting fetch in it. The fetch gets the work in the end, or its caller hears that it may
// have it. Nobody waits for the end of a lease.
func TestHazard100_FailedCommitStrandsNoClaim(t *testing.T) {
	t.Parallel()
	p, f := failingStore(t)
	s := newStage(t, p)
	turn, _ := raced.Named("turn")
	message, _ := raced.Named("message")
	fetch, _ := raced.Named("fetch of turns")
	for how := commitNotSaid; how < commitsOutcome; how++ {
		scene, _ := s.scene(raced.Leased)
		if heard := turn.Do(t.Context(), provider.FullOf(p), scene); !strings.HasPrefix(heard, "ok") {
			t.Fatal(heard)
		}
		req := scene.Waiting(time.Minute)
		fetched := fetchTurns(t.Context(), p, req)
		awaitWaiting(t, p.store.writer, 1)
		f.commit.Store(how)
		heard := message.Do(t.Context(), provider.FullOf(p), scene)
		if how != commitNotSaid {
			message.Do(t.Context(), provider.FullOf(p), scene)
		}
		got := <-fetched
		if got.err == nil {
			leased := 0
			err := s.file.QueryRowContext(t.Context(), `SELECT count(*) FROM perdure_instance WHERE lease_token = ?`, req.Token[:]).Scan(&leased)
			if err != nil || leased != 1 || len(got.res.Turns) != 1 || got.res.Turns[0].Instance.Deliveries != 1 {
				t.Errorf("commit %d, heard %s: fetched %+v, %d are leased, %v", how, heard, got.res, leased, err)
			}
			continue
		}
		if provider.OutcomeOf(got.err) == provider.OutcomeUnknown { // its caller undoes it, by its token
			_, err := p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: req.Token}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if again := fetch.Do(t.Context(), provider.FullOf(p), scene); !strings.Contains(again, "Running") {
			t.Errorf("commit %d: after %v another fetch gets %s", how, got.err, again)
		}
	}
}
