package dispatcher

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// maxFetch bounds the instances and tasks of one fetch, so that one node does not take
// all of a burst from the others.
const maxFetch = 64

// turnLoop fetches instances with messages as long as there are free slots.
func (d *Dispatcher) turnLoop(fetching, working context.Context) {
	req := provider.FetchTurnsRequest{
		Owner: d.cfg.Owner, Lease: d.cfg.Lease, Capabilities: d.cfg.capabilities(),
		EngineLevel: replay.EngineLevel, Wait: fetchWait,
	}
	for failures := 0; ; {
		n, err := d.turns.takeUpTo(fetching, maxFetch)
		if err != nil {
			return
		}
		req.Max, req.Token = n, newToken()
		turns, err := d.fetchTurns(fetching, req)
		d.turns.give(n - len(turns))
		if err == nil {
			failures = 0
			for i := range turns {
				d.count.turnsFetched.Add(1)
				d.deliverTurn(working, &turns[i], req.Token)
			}
			continue
		}
		if fetching.Err() != nil || errors.Is(err, provider.ErrClosed) {
			return
		}
		failures++
		d.storageFailed("fetch turns", failures, err)
		if !pause(fetching, backoff(failures)) {
			return
		}
	}
}

func (d *Dispatcher) fetchTurns(ctx context.Context, req provider.FetchTurnsRequest) ([]provider.Turn, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait+callTimeout)
	defer cancel()
	res, err := d.store.FetchTurns(ctx, req)
	d.clock.set(res.Now)
	return res.Turns, err
}

// deliverTurn gives a fetched turn, whose slot is taken, to its instance's actor, or back
// to the storage if the fetch came in when this node was to stop.
func (d *Dispatcher) deliverTurn(working context.Context, turn *provider.Turn, token provider.UUID) {
	if d.stopping.Load() {
		d.refuse(working, []job{{turn: turn, token: token}})
		return
	}
	d.enqueue(working, turn.Instance.Key, job{turn: turn, token: token}, true)
}
