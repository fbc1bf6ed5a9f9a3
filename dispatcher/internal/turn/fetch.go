package turn

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/suspect"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/provider"
)

// turnFetcher fetches turns and gives them to their actors.
type turnFetcher struct {
	*core.Node

	turns *Turns

	since  time.Time // when the span began in which tasks are counted
	queued int64     // how many had been counted then
}

// loop fetches instances with messages while there are free slots. It holds no slot while its fetch waits; each turn takes its own when
// it begins.
func (f *turnFetcher) loop(fetching, working context.Context) {
	req := provider.FetchTurnsRequest{
		Owner: f.Config.Owner, Lease: f.Config.Lease, EngineLevel: f.Config.Level.Own(),
	}
	taken := f.Config.Fallbacks.Now()
	req.Capabilities = f.Config.Fetchable(taken)
	var manyUntil time.Time // when a fetch asks for no more than room again
	for failures := 0; ; {
		if !f.Suspects.Wait(fetching) || !f.slotFree(fetching) {
			return
		}
		if now := f.Config.Fallbacks.Now(); now != taken {
			taken, req.Capabilities = now, f.Config.Fetchable(now)
		}
		req.Token = storage.NewToken()
		room := f.room()
		f.ask(&req, room, time.Until(manyUntil))
		waiting, stop := f.Config.Fallbacks.Until(fetching, taken)
		res, err := f.fetch(waiting, req)
		other := errors.Is(context.Cause(waiting), fallback.ErrOther)
		stop()
		if err != nil && other {
			f.Store.Release(working, provider.TurnRelease{Kind: provider.ReleaseToken, Token: req.Token}) // what it may have leased
			continue
		}
		if err == nil {
			failures = 0
			manyUntil = manyAhead(&res, room, manyUntil)
			f.Count.TurnsFetched.Add(int64(len(res.Turns)))
			if f.deliverAll(working, &res, req.Token) {
				f.askTime(fetching)
			}
			if time.Now().After(manyUntil) && !f.pace(fetching) {
				return
			}
			continue
		}
		failures++
		if !f.Store.FetchAgain(fetching, "fetch turns", failures, err, func() {
			f.Store.Release(working, provider.TurnRelease{Kind: provider.ReleaseToken, Token: req.Token})
		}) {
			return
		}
	}
}

// ask sets how much a fetch asks for and how long it waits. For the given time it may ask for more turns than there is room for. It waits no
// longer, because turns that are due by then would all begin at once.
func (f *turnFetcher) ask(req *provider.FetchTurnsRequest, room int, many time.Duration) {
	req.Max, req.Ahead, req.Wait = room, f.turns.claims.Ahead(), storage.FetchWait
	switch claims := f.turns.claims.Room(); {
	case claims == 0:
		req.Ahead, req.Wait = 0, req.Ahead
	case many > 0:
		req.Max, req.Wait = max(room, min(claims, maxClaims)), many
	}
}

const (
	// maxClaims bounds a fetch of turns that are claimed ahead. Commits wait for the storage meanwhile.
	maxClaims = 256
	// manyFor is how long it counts that a fetch found as many turns as there was room for, the last of them ahead. Timers that are due at a
	// steady rate are fetched more often.
	manyFor = 100 * time.Millisecond
)

// manyAhead returns until when a fetch may ask for more than room, so far until the given time. A claim ahead takes no slot. If as few were
// fetched at a time as turns begin, the timers of busy moments would be late. Turns come in the order of their time. So if the last one is
// not due, none that is due was left, and the next fetch brings few of these.
func manyAhead(res *provider.FetchTurnsResult, room int, until time.Time) time.Time {
	n := len(res.Turns)
	if n == 0 {
		return until
	}
	last := job{turn: &res.Turns[n-1]}
	switch {
	case last.aheadOf(res.Now) == 0:
		return time.Time{}
	case n >= room:
		return time.Now().Add(manyFor)
	}
	return until
}

// leastTurns is how many turns a fetch asks for while tasks wait. The turns may need no activity, or one of another node.
const leastTurns = 8

// room returns how many turns to fetch: at most half of the free slots of turns, and a quarter of those of tasks, since the turns of the last
// fetch may not have taken theirs. If more began than there are slots for, their tasks would queue, and then those of all others, too. A step
// through the queue costs twice as much as one that is handed off.
func (f *turnFetcher) room() int {
	tasks := max(leastTurns, f.turns.attempts.Room()/4)
	return max(1, min(storage.MaxFetch, tasks, f.turns.slots.Free()/2))
}

// span is the time in which commits may queue as many tasks as leastTurns before the next fetch of turns waits for its end.
const span = 20 * time.Millisecond

// pace waits while the turns of this node queue tasks quickly, for lack of room. Where a fetch of turns takes less time than a commit, the queue
// would grow for ever. Turns that queue no tasks, or few, do not wait. It returns false if the node stops.
func (f *turnFetcher) pace(fetching context.Context) bool {
	now, queued := time.Now(), f.turns.attempts.Queued()
	rest := span - now.Sub(f.since)
	if rest <= 0 {
		f.since, f.queued = now, queued
		return true
	}
	if queued-f.queued < leastTurns {
		return true
	}
	return storage.Pause(fetching, rest)
}

func (f *turnFetcher) fetch(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	ctx, cancel := storage.Waiting(ctx, storage.FetchWait)
	defer cancel()
	res, err := f.Store.FetchTurns(ctx, req)
	f.Clock.Set(res.Now)
	return res, err
}

// askTime asks the storage for its time now and then. Claims ahead depend on it.
func (f *turnFetcher) askTime(fetching context.Context) {
	if !f.Clock.Claim() {
		return
	}
	f.Node.Fetch(func() {
		if f.Clock.Ask(fetching, f.Store, storage.CallTimeout) {
			f.turns.claims.Reset(f.Clock)
		}
	})
}

// slotFree waits until a slot is free. Meanwhile turns may be waiting in the storage.
func (f *turnFetcher) slotFree(fetching context.Context) bool {
	if !f.turns.slots.TryTake() {
		f.turns.queued.Store(true)
		err := f.turns.slots.Take(fetching)
		f.turns.queued.Store(false)
		if err != nil {
			return false
		}
	}
	f.turns.slots.Release(1)
	return true
}

// deliverAll gives fetched turns to their actors, claims ahead when they are due. It releases suspects that have to wait before the
// admitted one begins. It reports whether any turn was claimed ahead.
func (f *turnFetcher) deliverAll(working context.Context, res *provider.FetchTurnsResult, token provider.UUID) (ahead bool) {
	var alone *job
	var wait []provider.TurnRelease
	for i := range res.Turns {
		j := job{turn: &res.Turns[i], token: token}
		early := j.aheadOf(res.Now)
		ahead = ahead || early > 0
		lost := lostTurns(&j.turn.Instance)
		if !suspect.Is(lost, f.Config.PoisonLimit) {
			f.deliver(working, j, early)
			continue
		}
		delay, admitted := early+suspect.Early, false
		if early == 0 {
			delay, admitted = f.Suspects.Admit(suspect.Turn(j.turn.Instance.Key), lost)
		}
		if admitted {
			j.suspect = true
			alone = &j
			continue
		}
		wait = append(wait, provider.TurnRelease{Key: j.turn.Instance.Key, Token: token, Delay: delay})
	}
	if len(wait) > 0 {
		f.Count.SuspectsDelayed.Add(int64(len(wait)))
		f.Store.Release(working, wait...)
	}
	if alone != nil {
		f.deliver(working, *alone, 0)
	}
	return ahead
}

// aheadOf returns how long before its first message is visible the turn was claimed.
func (j *job) aheadOf(now provider.Time) time.Duration {
	if len(j.turn.Messages) == 0 {
		return 0
	}
	return max(0, j.turn.Messages[0].VisibleAt.Sub(now))
}

// deliver gives a fetched turn to its instance's actor, or releases it if the node is stopping.
func (f *turnFetcher) deliver(working context.Context, j job, early time.Duration) {
	key := j.turn.Instance.Key
	f.turns.claims.Overtaken(key)
	switch {
	case !f.Accepting():
		f.turns.router.refuse(working, []job{j})
	case early == 0:
		f.turns.enqueue(working, key, j)
	case !f.turns.claims.Hold(working, &fast.Claim{Turn: j.turn, Token: j.token}):
		f.turns.router.refuse(working, []job{j})
	}
}
