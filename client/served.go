package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/natural"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// servedAge is the age at which what was read of the nodes is read again.
const servedAge = 10 * time.Second

// servedPatience bounds such a read, so that a store that hangs does not hold starts up for long.
const servedPatience = 2 * time.Second

// served knows the newest versions that nodes have registered, for starts by name. The zero served knows nothing yet.
type served struct {
	mu     sync.Mutex
	known  bool
	next   time.Time // of the next read
	byName map[string]string
}

// newest returns the newest version of an orchestration that a listed node has, "" if none has one. Inside a transaction of the caller
// it reads nothing: the caller may hold the only connection. While the list cannot be read again, what is known holds.
func (s *served) newest(ctx context.Context, store *storage, name string, inTx bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if inTx || s.known && now.Before(s.next) {
		return s.byName[name], nil
	}
	if s.known {
		limited, cancel := context.WithTimeout(ctx, servedPatience)
		defer cancel()
		ctx = limited
	}
	byName, err := servedBy(ctx, store)
	switch {
	case err == nil:
		s.byName, s.known = byName, true
	case errors.Is(err, errors.ErrUnsupported):
		s.known = true
	case !s.known:
		return "", err
	}
	s.next = now.Add(servedAge)
	return s.byName[name], nil
}

// servedBy reads the nodes.
func servedBy(ctx context.Context, store *storage) (map[string]string, error) {
	nodes, err := read(ctx, store, "looking for the newest version", func(ctx context.Context, store provider.Keeper) ([]upgrade.Node, error) {
		nodes, _, err := upgrade.Nodes(ctx, store)
		return nodes, err
	}, provider.Keeper(store))
	if err != nil {
		return nil, err
	}
	byName := make(map[string]string)
	for i := range nodes {
		for _, o := range nodes[i].Orchestrations {
			if natural.Compare(o.Version, byName[o.Name]) > 0 {
				byName[o.Name] = o.Version
			}
		}
	}
	return byName, nil
}
