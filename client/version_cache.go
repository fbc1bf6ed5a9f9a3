package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/natural"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// versionCacheAge is the age at which what was read of the nodes is read again.
const versionCacheAge = 10 * time.Second

// versionReadTimeout bounds such a read, so that a store that hangs does not hold starts up for long.
const versionReadTimeout = 2 * time.Second

// versionCache knows the newest versions that nodes have registered, for starts by name. A new one knows nothing yet.
type versionCache struct {
	reader chan struct{} // held by the goroutine that reads

	mu     sync.Mutex
	known  bool
	next   time.Time // of the next read
	byName map[string]string
}

func newVersionCache() *versionCache { return &versionCache{reader: make(chan struct{}, 1)} }

// newest returns the newest version of an orchestration that a listed node has, "" if none has one. Inside a transaction of the caller
// it reads nothing: the caller may hold the only connection. While the list cannot be read again, what is known holds. While another
// goroutine reads, it does, too; one that knows nothing waits for that, until ctx is done.
func (s *versionCache) newest(ctx context.Context, store *storage, name string, inTx bool) (string, error) {
	version, known, fresh := s.cached(name)
	if inTx || fresh {
		return version, nil
	}
	if known {
		select {
		case s.reader <- struct{}{}:
		default:
			return version, nil
		}
	} else if err := acquire(ctx, s.reader); err != nil {
		return "", err
	}
	defer func() { <-s.reader }()
	if version, known, fresh = s.cached(name); fresh { // another goroutine has read meanwhile
		return version, nil
	}
	if known {
		limited, cancel := context.WithTimeout(ctx, versionReadTimeout)
		defer cancel()
		ctx = limited
	}
	now := time.Now()
	byName, err := readVersions(ctx, store)
	return s.update(name, now, byName, err)
}

// cached returns what is known of an orchestration, whether anything is known, and whether that need not be read again.
func (s *versionCache) cached(name string) (version string, known, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name], s.known, s.known && time.Now().Before(s.next)
}

// update takes what a read has found.
func (s *versionCache) update(name string, now time.Time, byName map[string]string, err error) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.byName, s.known = byName, true
	case errors.Is(err, errors.ErrUnsupported):
		s.known = true
	case !s.known:
		return "", err
	}
	s.next = now.Add(versionCacheAge)
	return s.byName[name], nil
}

// readVersions reads the nodes.
func readVersions(ctx context.Context, store *storage) (map[string]string, error) {
	nodes, err := access.Read(ctx, store.Store, "looking for the newest version", func(ctx context.Context, store provider.Keeper) ([]upgrade.Node, error) {
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
