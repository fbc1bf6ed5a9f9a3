package fast

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/provider"
)

// unpinTimeout limits the call that unpins instances. If it fails, the pins expire.
const unpinTimeout = time.Second

// Unpinner unpins instances from this node. One call at a time unpins all that have gathered.
type Unpinner struct {
	*core.Node

	mu   sync.Mutex
	keys []provider.UUID
	busy bool
}

// Unpin lets other nodes fetch the instances.
func (u *Unpinner) Unpin(working context.Context, keys ...provider.UUID) {
	u.mu.Lock()
	u.keys = append(u.keys, keys...)
	start := !u.busy && len(u.keys) > 0
	u.busy = u.busy || start
	u.mu.Unlock()
	if start {
		u.Work.Add()
		go u.run(working)
	}
}

func (u *Unpinner) run(working context.Context) {
	defer u.Work.Done()
	for {
		batch := u.next()
		if len(batch) == 0 {
			return
		}
		req := provider.ReleaseTurnsRequest{}
		for _, key := range batch {
			req.Items = append(req.Items, provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: key, Owner: u.Config.Owner})
		}
		ctx, cancel := context.WithTimeout(working, unpinTimeout)
		_, err := u.Store.ReleaseTurns(ctx, req)
		cancel()
		if err != nil && working.Err() == nil {
			u.Store.Failed("free instances", 1, err)
		}
	}
}

// next returns a batch. If it is empty, the caller must end.
func (u *Unpinner) next() (batch []provider.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := min(len(u.keys), provider.MaxBatch)
	batch, u.keys = u.keys[:n:n], u.keys[n:]
	u.busy = n > 0
	return batch
}
