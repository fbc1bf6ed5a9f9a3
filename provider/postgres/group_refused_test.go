package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/raced"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// member returns a call of the first handle as a member that no group has taken, and what its caller hears once it is done.
func (s *stage) member(scene raced.Scene, call raced.Call) (*relational.Member, <-chan string) {
	s.t.Helper()
	enqueue, made, heard := s.first.calls.Enqueue, make(chan *relational.Member, 1), make(chan string, 1)
	s.first.calls.Enqueue = func(_ context.Context, m *relational.Member, _ bool) error {
		made <- m
		<-m.Done
		return m.Err
	}
	go func() { heard <- call.Do(s.t.Context(), provider.FullOf(s.first), scene) }()
	select {
	case m := <-made:
		s.first.calls.Enqueue = enqueue
		return m, heard
	case text := <-heard:
		s.t.Fatalf("%q is no member of a group: %s", call.Name, text)
		return nil, nil
	}
}

// A member that is refused after all its work leaves nothing in its group: neither rows nor what a later member of the group would go by.
func TestHazard96_RefusedMemberLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for i, call := range members() {
		for j, state := range raced.States() {
			if testing.Short() && (i+3*j)%16 != 0 {
				continue
			}
			scene, began := s.scene(s.first, state)
			refused, _ := s.member(scene, call)
			run := refused.Run
			refused.Run = func(t *relational.Tx) error {
				if err := run(t); err != nil {
					return err
				}
				return fmt.Errorf("by the test: %w", provider.ErrConflict)
			}
			again, heard := s.member(scene, call)
			grouped(s.first, refused, again)
			got := ending{heard: [2]string{<-heard}, rows: scene.Plain(s.rows(), began)}
			want := s.sequence(state, call)
			if got.heard != want.heard || !slices.Equal(got.rows, want.rows) {
				t.Errorf("%s: %q after a refused one in its group (-alone +after it):\n%s", state, call.Name, cmp.Diff(want, got, cmp.AllowUnexported(ending{})))
			}
		}
	}
	checkConsistent(t, s.cold)
}

// Members of a group end as calls that come one after the other. One that goes on in a transaction of its own comes after the others.
func TestHazard96_MembersSeeWhatTheirGroupDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	all, mine := members(), raced.Share(t, 6)
	check := func(state raced.State, one, two raced.Call) {
		t.Helper()
		scene, began := s.scene(s.first, state)
		first, said := s.member(scene, one)
		second, heard := s.member(scene, two)
		grouped(s.first, first, second)
		got := ending{heard: [2]string{<-said, <-heard}, rows: scene.Plain(s.rows(), began)}
		want, other := s.sequence(state, one, two), s.sequence(state, two, one)
		other.heard[0], other.heard[1] = other.heard[1], other.heard[0]
		if !same(got, want) && !same(got, other) {
			t.Errorf("%s: %q and %q in a group (-one after the other +in a group):\n%s\nin the other order:\n%s", state, one.Name, two.Name,
				cmp.Diff(want, got, cmp.AllowUnexported(ending{})), cmp.Diff(other, got, cmp.AllowUnexported(ending{})))
		}
	}
	for i, one := range all {
		for j, two := range all {
			if two.After == one.Name || (i+7*j)%397 == 0 || mine(i, j) {
				check(raced.State((i+j)%2), one, two)
			}
		}
	}
	checkConsistent(t, s.cold)
}

// What the server refuses only as the rows are written fails its member alone, in whichever row it is.
func TestHazard96_RowsThatCannotBeWritten(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	p := store(t)
	for _, constraint := range []string{
		`ALTER TABLE perdure.instance ADD CONSTRAINT small CHECK (id <> 'bad' OR inbox_messages < 2)`,
		`ALTER TABLE perdure.inbox ADD CONSTRAINT small CHECK (coalesce(octet_length(payload), 0) < 1000)`,
		`ALTER TABLE perdure.history ADD CONSTRAINT small CHECK (octet_length(data) < 1000)`,
		`ALTER TABLE perdure.task ADD CONSTRAINT small CHECK (coalesce(octet_length(payload), 0) < 1000)`,
	} {
		exec(t, p, constraint)
	}
	large := make([]byte, 2000)
	for what, change := range map[string]func(*provider.CommitTurnRequest){
		"an event": func(c *provider.CommitTurnRequest) { c.Events = [][]byte{large} },
		"a task": func(c *provider.CommitTurnRequest) {
			c.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "act", Payload: large}}
		},
		"a message": func(c *provider.CommitTurnRequest) {
			c.Sends = []provider.OutMessage{{Key: c.Key, Message: provider.NewMessage{Payload: large}}}
		},
	} {
		before, refused, after := create(t, p, unique().String()), create(t, p, unique().String()), create(t, p, unique().String())
		bad := turn(&refused, 1)
		change(&bad)
		errs := grouped(p, memberSend(before.Key, text("m")), memberCommit(bad), memberSend(after.Key, text("m")))
		wantErrors(t, errs, nil, errs[1], nil)
		if errs[1] == nil || provider.OutcomeOf(errs[1]) != provider.OutcomeNothing {
			t.Errorf("%s: the refused member got %v", what, errs[1])
		}
		if in := get(t, p, refused.Key); in.Version != refused.Version || in.InboxMessages != 1 {
			t.Errorf("%s: the refused member left %+v", what, in)
		}
	}
	in := create(t, p, "bad")
	other := create(t, p, "other")
	errs := grouped(p, memberSend(other.Key, text("m")), memberSend(in.Key, text("m")))
	wantErrors(t, errs, nil, errs[1])
	if errs[1] == nil {
		t.Error("a row that the server refuses was stored")
	}
	checkConsistent(t, p)
}

// The function of OnComplete may send to the instance whose task completes. Its message and the result are then two messages.
func TestHazard96_FunctionSendsToItsInstance(t *testing.T) {
	t.Parallel()
	p := store(t)
	item := running(t, p)
	send(t, p, item.Key, text("before")) // this process has cached the head
	before := get(t, p, item.Key).InboxMessages
	for _, refused := range []bool{true, false} {
		if refused { // by the constraint, as the result is written: then the function's message is not stored, either
			exec(t, p, `ALTER TABLE perdure.inbox ADD CONSTRAINT no_result CHECK (payload IS NULL OR payload <> 'done')`)
		} else {
			exec(t, p, `ALTER TABLE perdure.inbox DROP CONSTRAINT no_result`)
		}
		res, err := p.CompleteIn(t.Context(), item, func(tx provider.Tx) error {
			_, err := p.SendIn(t.Context(), tx, provider.SendRequest{Key: item.Key, Message: text("of the function")})
			return err
		})
		if (err != nil || res.Err != nil) != refused {
			t.Fatalf("refused: %v: %v, %v", refused, err, res.Err)
		}
		want := before + 2
		if refused {
			want = before
		}
		if got := get(t, p, item.Key).InboxMessages; got != want {
			t.Errorf("refused: %v: %d messages wait, want %d", refused, got, want)
		}
		checkConsistent(t, p)
	}
}
