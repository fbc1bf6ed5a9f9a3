package dispatcher

import (
	"context"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/suspect"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// turnLoop fetches instances with messages as long as there are free slots. It holds none of them while its
// fetch is parked, so that fast turns may use all: each turn takes its own when it begins.
func (d *Dispatcher) turnLoop(fetching, working context.Context) {
	req := provider.FetchTurnsRequest{
		Owner: d.cfg.Owner, Lease: d.cfg.Lease, Capabilities: d.cfg.capabilities(),
		EngineLevel: replay.EngineLevel,
	}
	for failures := 0; ; {
		if !d.suspects.Wait(fetching) || !d.turnSlotFree(fetching) {
			return
		}
		req.Max, req.Token = max(1, min(storage.MaxFetch, d.turns.Free()/2)), storage.NewToken()
		req.Ahead, req.Wait = d.ahead(), storage.FetchWait
		if d.early.full() {
			req.Ahead, req.Wait = 0, req.Ahead
		}
		res, err := d.fetchTurns(fetching, req)
		if err == nil {
			failures = 0
			d.count.turnsFetched.Add(int64(len(res.Turns)))
			if d.deliverTurns(working, &res, req.Token) {
				d.askTime(fetching)
			}
			continue
		}
		failures++
		if !d.store.FetchAgain(fetching, "fetch turns", failures, err, func() {
			d.store.Release(working, provider.TurnRelease{Token: req.Token})
		}) {
			return
		}
	}
}

func (d *Dispatcher) fetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	ctx, cancel := context.WithTimeout(ctx, storage.FetchWait+storage.CallTimeout)
	defer cancel()
	res, err := d.store.FetchTurns(ctx, req)
	d.clock.Set(res.Now)
	return res, err
}

// askTime asks the storage for its time, now and then. Turns that are held until they are due go by it.
func (d *Dispatcher) askTime(fetching context.Context) {
	if !d.clock.Claim() {
		return
	}
	d.fetch(func() {
		if d.clock.Ask(fetching, d.store, storage.CallTimeout) {
			d.early.reset(d.clock)
		}
	})
}

// turnSlotFree waits until a turn could begin. While it waits, turns may be waiting in the storage.
func (d *Dispatcher) turnSlotFree(fetching context.Context) bool {
	if !d.turns.TryTake() {
		d.turnsQueue.Store(true)
		err := d.turns.Take(fetching)
		d.turnsQueue.Store(false)
		if err != nil {
			return false
		}
	}
	d.turns.Release(1)
	return true
}

// deliverTurns gives fetched turns to their actors, those that were claimed ahead when they are due. Suspects that have to wait are given
// back to the storage, and that is durable before the one that may run begins. It tells whether any was claimed ahead.
func (d *Dispatcher) deliverTurns(working context.Context, res *provider.FetchTurnsResult, token provider.UUID) (ahead bool) {
	var alone *job
	var wait []provider.TurnRelease
	for i := range res.Turns {
		j := job{turn: &res.Turns[i], token: token}
		early := j.aheadOf(res.Now)
		ahead = ahead || early > 0
		lost := lostTurns(&j.turn.Instance)
		if !suspect.Is(lost, d.cfg.PoisonLimit) {
			d.deliverTurn(working, j, early)
			continue
		}
		delay, admitted := early+suspect.Early, false
		if early == 0 {
			delay, admitted = d.suspects.Admit(suspect.Turn(j.turn.Instance.Key), lost)
		}
		if admitted {
			j.suspect = true
			alone = &j
			continue
		}
		wait = append(wait, provider.TurnRelease{Key: j.turn.Instance.Key, Token: token, Delay: delay})
	}
	if len(wait) > 0 {
		d.count.suspectsDelayed.Add(int64(len(wait)))
		d.store.Release(working, wait...)
	}
	if alone != nil {
		d.deliverTurn(working, *alone, 0)
	}
	return ahead
}

// aheadOf answers how long before its time a turn was claimed: as long as none of its messages is visible.
func (j *job) aheadOf(now provider.Time) time.Duration {
	if len(j.turn.Messages) == 0 {
		return 0
	}
	return max(0, j.turn.Messages[0].VisibleAt.Sub(now))
}

// deliverTurn gives a fetched turn to its instance's actor, or back to the storage if the
// fetch came in when this node was to stop.
func (d *Dispatcher) deliverTurn(working context.Context, j job, early time.Duration) {
	key := j.turn.Instance.Key
	d.overtaken(key)
	j.ahead = early > 0
	switch {
	case d.stopping.Load():
		d.refuse(working, []job{j})
	case !j.ahead:
		d.enqueue(working, key, j)
	case !d.hold(working, &j):
		d.refuse(working, []job{j})
	}
}
