package validations

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// racedCases lets another writer come between each read of the store and the write that depends on it. The acts of a round begin
// while other commits keep the store busy.
func racedCases() []testCase {
	return append(rowRaces(), []testCase{
		{
			name: "race-of-records", run: racedRecords, broad: true,
			rule: "A write or delete names the version that it expects, 0 if the record must not exist. A mismatch returns [ErrConflict].",
		},
		{
			name: "race-of-closes-and-sends", run: racedCloses, broad: true,
			rule: "Sending is serialized with closing: after success, the message is in the inbox of an instance that has not closed.",
		},
		{
			name: "race-of-commits-and-operators", run: racedOperators, broad: true,
			rule: "It is not fenced: it applies to whatever is stored, atomically. It writes a new Version",
		},
		{
			name: "race-of-completions", run: racedCompletions, broad: true,
			rule: "Complete removes the task and puts Message into the inbox of its instance, if the execution still runs.",
		},
		{
			name: "race-of-redrives", run: racedRedrives, broad: true,
			rule: "DeadLetters lists items that could not be delivered or processed, puts them back where they came from " +
				"(redrive) or discards them.",
		},
		{name: "race-of-named-leases", run: racedLeases, broad: true, rule: "Lease acquires, renews or releases a named lease."},
		{name: "race-of-creates", run: racedCreates, broad: true, rule: "ReplaceEnded creates a new key if the old instance has ended"},
		{
			name: "race-of-answers", run: racedAnswers, broad: true,
			rule: "Answer answers a question. It returns [ErrNotFound] if the question is gone or was answered before.",
		},
	}...)
}

// rounds is how often a race is repeated.
const rounds = 25

func racedRecords(t *trial) {
	const writers = 6
	b := newBustle(t)
	for round := range meetings {
		key := fmt.Sprint("k", round)
		t.record(put(key, "first", 0))
		var won atomic.Int64
		b.behind(t, writers, func(n int) {
			req := put(key, fmt.Sprint(n), 1)
			if (n+round)%writers == 0 {
				req.Action = provider.RecordDelete
			}
			_, err := t.Record(t.ctx, req)
			if err == nil {
				won.Add(1)
			} else {
				t.want(err, provider.ErrConflict)
			}
		})
		t.mustf(won.Load() == 1, "round %d: %d writes on one version were stored, want 1", round, won.Load())
	}
}

// Senders compete with the commit that closes the instance. Each message that was accepted is consumed or a dead letter.
func racedCloses(t *trial) {
	b := newBustle(t)
	for round := range 2 * meetings { // a send rarely falls between a look and the close
		i := t.begin(fmt.Sprint("i", round))
		var accepted atomic.Int64
		b.behind(t, 3, func(n int) {
			if (n+round)%3 > 0 { // the order in which they begin changes
				_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
				if err == nil {
					accepted.Add(1)
					return
				}
				t.want(err, provider.ErrEnded)
				return
			}
			req := closing(i)
			if round%2 == 1 {
				req.CloseInbox = "closed"
			}
			if _, err := t.CommitTurn(t.ctx, req); err != nil {
				t.want(err, provider.ErrInboxNotEmpty)
			}
		})
		got, err := t.store.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
		t.ok(err)
		kept := got.Instance.InboxMessages + got.DeadLetters
		t.mustf(kept == accepted.Load(), "round %d: %d messages were accepted, %d are in the inbox or dead letters of an instance that is %s",
			round, accepted.Load(), kept, got.Instance.Status)
		t.checkf(!got.Instance.Status.Ended() || got.Instance.InboxMessages == 0, "round %d: an ended instance has messages", round)
	}
}

// A commit and an operator change one instance. The commit is stored before the operator's change, or refused.
func racedOperators(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		i := t.begin(fmt.Sprint("i", round))
		var stored atomic.Int64
		b.behind(t, 3, func(n int) {
			switch (n + round) % 3 {
			case 0:
				if _, err := t.CommitTurn(t.ctx, next(i, "event")); err == nil {
					stored.Add(1)
				} else {
					t.want(err, provider.ErrConflict)
				}
			case 1:
				t.steer(i.Key, provider.SteerResume, func(r *provider.SteerRequest) { r.Event = []byte("resumed") })
			default:
				t.steer(i.Key, provider.SteerUnblock, func(r *provider.SteerRequest) { r.Event = []byte("unblocked") })
			}
		})
		want := 3 + stored.Load() // started, resumed and unblocked
		got := t.get(i.Key)
		t.mustf(got.HistoryLength == want && int64(len(t.history(i.Key, 0))) == want,
			"round %d: %d events, %d of them readable, want %d", round, got.HistoryLength, len(t.history(i.Key, 0)), want)
	}
}

// A completion competes with the commit that ends or continues the execution. Its message is in the inbox, in the dead letters, or
// the report says that the execution is over.
func racedCompletions(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		i := t.begin(fmt.Sprint("i", round), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		task := t.fetchTask()
		var res provider.TaskReportResult
		var closed atomic.Bool
		b.behind(t, 2, func(n int) {
			if (n+round)%2 == 0 {
				res = t.report(task, provider.TaskComplete)
				return
			}
			_, err := t.CommitTurn(t.ctx, closing(i))
			if closed.Store(err == nil); err != nil {
				t.want(err, provider.ErrInboxNotEmpty)
			}
		})
		got := t.get(i.Key)
		if closed.Load() {
			t.mustf(got.InboxMessages == 0 && (res.Err != nil || res.State == terminal(provider.StatusCompleted)),
				"round %d: the instance has ended with %d messages, and the report returned %+v", round, got.InboxMessages, res)
		} else {
			t.mustf(got.InboxMessages == 1 && res.Err == nil, "round %d: %d messages wait, and the report returned %+v, want 1", round, got.InboxMessages, res)
		}
	}
}

func racedRedrives(t *trial) {
	i := leaveDeadLetters(t, meetings)
	b := newBustle(t)
	for round, l := range t.letters() {
		var done atomic.Int64
		b.behind(t, 3, func(n int) {
			action := provider.DeadLettersRedrive
			if n == 2 {
				action = provider.DeadLettersDiscard
			}
			k := actOnLetters(t, action, l.ID)
			done.Add(k)
		})
		t.mustf(done.Load() == 1, "round %d: one letter was taken %d times, want once", round, done.Load())
	}
	t.checkf(t.get(i.Key).InboxMessages <= meetings, "%d messages of %d letters", t.get(i.Key).InboxMessages, meetings)
	is(t, "dead letters that remain", len(t.letters()), 0)
}

func racedLeases(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		var mu sync.Mutex
		var winners []provider.LeaseRequest
		b.behind(t, 4, func(n int) {
			req := acquire(fmt.Sprint("owner-", n))
			req.Name = fmt.Sprint("lease-", round)
			if _, err := t.Lease(t.ctx, req); err != nil {
				t.want(err, provider.ErrLeaseLost)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			winners = append(winners, req)
		})
		t.mustf(len(winners) == 1, "round %d: %d owners acquired one lease, want 1", round, len(winners))
		other := winners[0]
		other.Token = unique()
		res, err := t.Lease(t.ctx, other)
		t.want(err, provider.ErrLeaseLost)
		is(t, "the holder", res.Owner, winners[0].Owner)
	}
}

// racedCreates races for an ID that is free in some rounds, and that an ended instance has in the others.
func racedCreates(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		id := fmt.Sprint("i", round)
		if round%2 == 0 {
			t.end(t.begin(id))
		}
		var won atomic.Int64
		b.behind(t, 4, func(n int) {
			req := createRequest(id)
			req.Policy = provider.IDReplaceEnded
			if (n+round)%4 == 3 {
				req.Policy = provider.IDUseExisting
			}
			res, err := t.Create(t.ctx, req)
			if err != nil {
				t.want(err, provider.ErrExists)
			} else if res.Created {
				won.Add(1)
			}
		})
		t.mustf(won.Load() == 1, "round %d: %d instances were created under one ID, want 1", round, won.Load())
	}
}

func racedAnswers(t *trial) {
	i := t.create("i")
	for range rounds {
		answered := parkedAsk(t, i.Key)
		open := fetchAsk(t)
		var won atomic.Int64
		t.parallel(3, func(int) {
			err := answerAsk(t, open.AskID)
			if err == nil {
				won.Add(1)
			} else {
				t.checkf(errors.Is(err, provider.ErrNotFound), "a second answer returned %v, want ErrNotFound", err)
			}
		})
		is(t, "answers that were taken", won.Load(), 1)
		t.ok(answered().err)
	}
}
