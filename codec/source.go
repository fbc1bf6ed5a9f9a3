package codec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Source finds keys elsewhere, such as data keys that a key service holds or unwraps. Its calls may take seconds. Many goroutines may call it
// at once.
type Source interface {
	// Current returns the key that encrypts from now on.
	Current(ctx context.Context) (Key, error)
	// ByID returns the key of an ID. An ErrNoKey means that there is none. Any other error is an outage.
	ByID(ctx context.Context, id string) (Key, error)
}

const (
	minCache = time.Second
	maxKeys  = 1_000 // that are kept
)

var errCache = fmt.Errorf("keys are kept for less than %v", minCache)

// AESFrom returns a codec of AES-GCM whose keys come from a source. It asks for the current key again after the given time, at least a second,
// and for an older one that it has not used for that long. A replay of 50,000 events asks for each key once. While the source does not answer,
// keys that are kept still decrypt, and the last current key still encrypts for as long again.
func AESFrom(source Source, keep time.Duration) (Codec, error) {
	if source == nil {
		return nil, fmt.Errorf("making an AES codec: %w", errNoKeys)
	}
	if keep < minCache {
		return nil, fmt.Errorf("making an AES codec: %w: %v", errCache, keep)
	}
	return aesCodec{&cachedKeys{source: source, keep: keep, kept: make(map[string]*keptKey), turn: make(chan struct{}, 1)}}, nil
}

// cachedKeys keeps keys of a source.
type cachedKeys struct {
	source Source
	keep   time.Duration
	turn   chan struct{} // held by the goroutine that asks the source

	mu   sync.Mutex
	kept map[string]*keptKey
	last string    // ID of the current key; "": none
	read time.Time // when it was read
}

type keptKey struct {
	key  *aesKey
	used time.Time
}

func (c *cachedKeys) current(ctx context.Context) (*aesKey, error) {
	if k := c.lastKey(c.keep); k != nil {
		return k, nil
	}
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.turn }()
	if k := c.lastKey(c.keep); k != nil { // another goroutine has asked
		return k, nil
	}
	k, err := c.ask(func() (Key, error) { return c.source.Current(ctx) })
	if err != nil {
		if old := c.lastKey(2 * c.keep); old != nil {
			return old, nil
		}
		return nil, fmt.Errorf("asking for the current key: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.read = k.id, time.Now()
	return k, nil
}

// lastKey returns the current key, unless it was read longer ago than d.
func (c *cachedKeys) lastKey(d time.Duration) *aesKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kept[c.last]
	if k == nil || time.Since(c.read) >= d {
		return nil
	}
	k.used = time.Now()
	return k.key
}

func (c *cachedKeys) byID(ctx context.Context, id string) (*aesKey, error) {
	if k := c.find(id); k != nil {
		return k, nil
	}
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.turn }()
	if k := c.find(id); k != nil {
		return k, nil
	}
	k, err := c.ask(func() (Key, error) { return c.source.ByID(ctx, id) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("asking for key %q: %w", id, err)
	case k.id != id:
		return nil, fmt.Errorf("asking for key %q: the source returned key %q", id, k.id)
	}
	return k, nil
}

func (c *cachedKeys) wait(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask keeps the key that the source returns.
func (c *cachedKeys) ask(source func() (Key, error)) (*aesKey, error) {
	found, err := source()
	if errors.Is(err, ErrDamaged) { // of a wrapped key, perhaps; the bytes that the engine gave are not known to be
		err = errors.New(err.Error()) //nolint:err113 // it must not be ErrDamaged
	}
	if err != nil {
		return nil, err
	}
	k, err := newAESKey(found)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for id, old := range c.kept {
		if id != c.last && (now.Sub(old.used) >= c.keep || len(c.kept) >= maxKeys) {
			delete(c.kept, id)
		}
	}
	c.kept[k.id] = &keptKey{key: k, used: now}
	return k, nil
}

func (c *cachedKeys) find(id string) *aesKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kept[id]
	if k == nil {
		return nil
	}
	k.used = time.Now()
	return k.key
}
