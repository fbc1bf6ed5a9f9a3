package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

func TestHazard16_OneMemberFailsAlone(t *testing.T) {
	p := store(t)
	stale, good, closing, receiver := create(t, p, "stale"), create(t, p, "good"), create(t, p, "closing"), create(t, p, "receiver")
	old := turn(&stale, 1)
	old.Expected, old.Events = unique(), [][]byte{[]byte("of a loser")}
	fine := turn(&good, 1)
	fine.Events = [][]byte{[]byte("one")}
	early := turn(&closing)
	early.Status = provider.StatusCompleted
	errs := grouped(p, memberCommit(old), memberCommit(fine), memberCommit(early), memberSend(receiver.Key, text("m")))
	wantErrors(t, errs, provider.ErrConflict, nil, provider.ErrInboxNotEmpty, nil)
	if n := number(t, p, `SELECT count(*) FROM perdure.history WHERE key = $1`, uuid(stale.Key)); n != 0 {
		t.Errorf("the loser's history has %d rows", n)
	}
	if in := get(t, p, good.Key); in.HistoryLength != 1 || in.Version != fine.Commit {
		t.Errorf("the good commit became %+v", in)
	}
	if in := get(t, p, receiver.Key); in.InboxMessages != 2 {
		t.Errorf("the receiver has %d messages", in.InboxMessages)
	}
}

// Some rows are refused by the server only when the group is written.
func TestHazard16_ServerRefusesOneMember(t *testing.T) {
	p := store(t)
	exec(t, p, `ALTER TABLE perdure.inbox ADD CONSTRAINT small CHECK (coalesce(octet_length(payload), 0) < 1000)`)
	a, b, c := create(t, p, "a"), create(t, p, "b"), create(t, p, "c")
	errs := grouped(p, memberSend(a.Key, text("m")), memberSend(b.Key, provider.NewMessage{Payload: make([]byte, 2000)}), memberSend(c.Key, text("m")))
	wantErrors(t, errs, nil, errs[1], nil)
	var failure *provider.Error
	if !errors.As(errs[1], &failure) || failure.Outcome != provider.OutcomeNothing || failure.Retryable {
		t.Errorf("the refused member got %v", errs[1])
	}
	for key, want := range map[provider.UUID]int64{a.Key: 2, b.Key: 1, c.Key: 2} {
		if got := number(t, p, `SELECT count(*) FROM perdure.inbox WHERE key = $1`, uuid(key)); got != want {
			t.Errorf("%d messages, want %d", got, want)
		}
	}
}

func TestHazard16_SameInstanceTwiceInAGroup(t *testing.T) {
	p := store(t)
	in := create(t, p, "twice")
	for range 8 {
		send(t, p, in.Key, text("early"))
	}
	late := send(t, p, in.Key, provider.NewMessage{Delay: time.Hour})
	first, second := turn(&in, 1, 2), turn(&in, late.MessageID)
	errs := grouped(p, memberCommit(first), memberCommit(second))
	wantErrors(t, errs, nil, provider.ErrConflict)
	checkConsistent(t, p)
	if got := get(t, p, in.Key); got.ReadyAt == 0 || got.ReadyAt >= late.Now {
		t.Errorf("ready at %d, though messages wait since before %d", got.ReadyAt, late.Now)
	}
	// Two sends and a commit of one instance, all in one update of its row.
	now := get(t, p, in.Key)
	errs = grouped(p, memberSend(in.Key, text("x")), memberCommit(turn(&now, 3)), memberSend(in.Key, text("y")))
	wantErrors(t, errs, nil, nil, nil)
	checkConsistent(t, p)
}

// A refusal based on what another member of the group did must not be returned if that is not stored.
func TestHazard16_RefusalOfAnUnstoredGroup(t *testing.T) {
	p := store(t)
	exec(t, p, `ALTER TABLE perdure.inbox ADD CONSTRAINT small CHECK (coalesce(octet_length(payload), 0) < 1000)`)
	other := create(t, p, "other")
	broken, good := createRequest("same"), createRequest("same")
	broken.Message.Payload = make([]byte, 2000)
	errs := grouped(p, memberCreate(broken), memberCreate(good), memberSend(other.Key, text("m")))
	wantErrors(t, errs, errs[0], nil, nil)
	if errs[0] == nil {
		t.Error("the broken instance was stored")
	}
}

func TestHazard16_HeldRowMakesOnlyItsOwnMemberWait(t *testing.T) {
	p := store(t)
	held := []provider.Instance{create(t, p, "a"), create(t, p, "b")}
	free := create(t, p, "free")
	release := []func(){hold(t, p, held[0].Key), hold(t, p, held[1].Key)}
	p.cache.remove(free.Key) // a group that has it cached would go another way
	waits, goes := memberSend(held[0].Key, text("waits")), memberSend(free.Key, text("m"))
	began := time.Now()
	if alone := p.group.runGroup(p.db.pool, []*relational.Member{waits, goes}); len(alone) != 1 || alone[0] != waits || time.Since(began) > 10*time.Second {
		t.Fatalf("%d members of a group go by themselves, after %v", len(alone), time.Since(began))
	}
	<-goes.Done
	var waiting sync.WaitGroup
	for i := range 12 { // more than may have their own transactions at once
		waiting.Go(func() { send(t, p, held[i%2].Key, text("waits")) })
	}
	var fastest, slowest time.Duration = time.Hour, 0
	for range 20 {
		began := time.Now()
		send(t, p, free.Key, text("m"))
		took := time.Since(began)
		fastest, slowest = min(fastest, took), max(slowest, took)
	}
	t.Logf("the others took %v to %v", fastest, slowest)
	if fastest > 100*time.Millisecond || slowest > 10*time.Second { // the slowest one also measures the machine
		t.Errorf("sends to a free instance took %v to %v", fastest, slowest)
	}
	for _, r := range release {
		r()
	}
	waiting.Wait()
	checkConsistent(t, p)
}

func TestHazard17_CallerThatGivesUp(t *testing.T) {
	p := store(t)
	a, b := create(t, p, "a"), create(t, p, "b")
	release := hold(t, p, a.Key)
	m := memberSend(a.Key, text("m"))
	taken, run := make(chan struct{}), m.Run
	once := sync.OnceFunc(func() { close(taken) })
	m.Run = func(t *relational.Tx) error {
		once()
		return run(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- p.group.queue.Await(ctx, p.db.door.Closing, m, false) }()
	<-taken
	cancel()
	if err := <-gone; !isFailure(err) || provider.OutcomeOf(err) != provider.OutcomeUnknown {
		t.Errorf("the caller that gave up got %v", err)
	}
	send(t, p, b.Key, text("m"))
	release()
	<-m.Done
	if got := get(t, p, a.Key).InboxMessages; got != 2 {
		t.Errorf("the instance has %d messages: the call of a caller that gave up was lost", got)
	}
	if _, err := p.Send(ctx, provider.SendRequest{Key: b.Key, Message: text("m")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A call that finds in a group that it needs its own transaction does not affect what the others did.
func TestHazard16_CallThatGoesAloneTakesNothingAlong(t *testing.T) {
	p := store(t)
	in := create(t, p, "in")
	existing := createRequest("in")
	existing.Policy = provider.IDUseExisting
	errs := grouped(p, memberSend(in.Key, text("m")), memberCreate(existing))
	wantErrors(t, errs, nil, nil)
	if got := get(t, p, in.Key).InboxMessages; got != 2 {
		t.Errorf("%d messages", got)
	}
	checkConsistent(t, p)
}

// The next execution gives the numbers of events again.
func TestTimersOfALeftExecutionAreForgotten(t *testing.T) {
	p := store(t)
	in := create(t, p, "in")
	timer := []provider.Timer{{EventID: 7, Due: in.CreatedAt.Add(time.Hour)}}
	first := turn(&in, 1)
	first.Timers = timer
	commit(t, p, first)
	var early []int64
	for range 3 {
		early = append(early, send(t, p, in.Key, text("early")).MessageID)
	}
	now := get(t, p, in.Key)
	next := turn(&now, early[0])
	next.Next = &provider.NextExecution{CodeVersion: "v1"}
	wantErrors(t, grouped(p, memberCommit(next)), nil)
	now = get(t, p, in.Key)
	last := turn(&now, early[1])
	last.Timers, last.CancelTimers = timer, []int64{7}
	wantErrors(t, grouped(p, memberCommit(last)), nil)
	checkConsistent(t, p)
	if got := get(t, p, in.Key); got.Execution != 2 || got.InboxMessages != 1 {
		t.Errorf("the instance became %+v", got)
	}
}
