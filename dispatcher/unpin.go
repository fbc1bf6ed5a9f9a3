package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// freeTimeout bounds the call that frees instances; if it fails they are free after the sticky time.
const freeTimeout = time.Second

// unpinner lets other nodes fetch instances that were kept for this node. One call at a time unpins all that have gathered.
type unpinner struct {
	*node

	mu   sync.Mutex
	keys []provider.UUID
	busy bool
}

// unpin lets other nodes fetch what this one does not keep in memory any more.
func (u *unpinner) unpin(working context.Context, keys ...provider.UUID) {
	u.mu.Lock()
	u.keys = append(u.keys, keys...)
	start := !u.busy && len(u.keys) > 0
	u.busy = u.busy || start
	u.mu.Unlock()
	if start {
		u.work.Add()
		go u.run(working)
	}
}

func (u *unpinner) run(working context.Context) {
	defer u.work.Done()
	for {
		batch := u.next()
		if len(batch) == 0 {
			return
		}
		req := provider.ReleaseTurnsRequest{}
		for _, key := range batch {
			req.Items = append(req.Items, provider.TurnRelease{Key: key, Owner: u.cfg.Owner})
		}
		ctx, cancel := context.WithTimeout(working, freeTimeout)
		_, err := u.store.ReleaseTurns(ctx, req)
		cancel()
		if err != nil && working.Err() == nil {
			u.store.Failed("free instances", 1, err)
		}
	}
}

// next takes a batch; with none the sender ends.
func (u *unpinner) next() (batch []provider.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := min(len(u.keys), provider.MaxBatch)
	batch, u.keys = u.keys[:n:n], u.keys[n:]
	u.busy = n > 0
	return batch
}
