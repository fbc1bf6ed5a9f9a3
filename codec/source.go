package codec

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// missingFor is how long it is known that the source has no key of an ID.
	missingFor = time.Second
	// refreshLimit bounds asking for the current key in the background, and refreshPause is the time until the next try.
	refreshLimit = 10 * time.Second
	refreshPause = 5 * time.Second
)

var errCache = fmt.Errorf("keys are kept for less than %v", minCache)

// AESFrom returns a codec of AES-GCM whose keys come from a source. It asks for the current key again after the given time, at least a second,
// and for an older one that it has not used for that long. A replay of 50,000 events asks for each key once. While the source does not answer,
// keys that are kept still decrypt, and the last current key still encrypts for as long again: nothing waits for the next one meanwhile. After an
// ErrNoKey it does not ask for that key for a second.
func AESFrom(source Source, keep time.Duration) (Codec, error) {
	if source == nil {
		return nil, fmt.Errorf("making an AES codec: %w", errNoKeys)
	}
	if keep < minCache {
		return nil, fmt.Errorf("making an AES codec: %w: %v", errCache, keep)
	}
	return aesCodec{&cachedKeys{
		source: source, keep: keep, kept: make(map[string]*keptKey), missing: make(map[string]missingKey), asking: make(map[string]*asking),
	}}, nil
}

// cachedKeys keeps keys of a source.
type cachedKeys struct {
	source Source
	keep   time.Duration

	mu      sync.Mutex
	kept    map[string]*keptKey
	missing map[string]missingKey
	asking  map[string]*asking // by the ID of the key; "": the current one
	last    string             // ID of the current key; "": none
	read    time.Time          // when it was read
	refresh time.Time          // when it may be asked for in the background again
}

type keptKey struct {
	key  *aesKey
	used time.Time
}

// missingKey is the answer that there is no key of an ID.
type missingKey struct {
	err error
	at  time.Time
}

// asking lets one goroutine at a time ask for a key.
type asking struct {
	turn  chan struct{} // held by that goroutine
	users int           // that wait or ask
}

func (c *cachedKeys) current(ctx context.Context) (*aesKey, error) {
	if k := c.lastKey(c.keep); k != nil {
		return k, nil
	}
	if k := c.lastKey(2 * c.keep); k != nil { // a key service that hangs must not hold up what this one can seal
		if c.mayRefresh() {
			go c.refreshNow(context.WithoutCancel(ctx))
		}
		return k, nil
	}
	return c.askCurrent(ctx)
}

// mayRefresh reports whether the caller should ask for the current key in the background. Others may after a pause.
func (c *cachedKeys) mayRefresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Before(c.refresh) {
		return false
	}
	c.refresh = now.Add(refreshLimit + refreshPause) // refreshNow makes it sooner
	return true
}

// refreshNow asks for the current key in the background, for a limited time. If that fails, calls report it when they need the key.
func (c *cachedKeys) refreshNow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	defer func() {
		_ = recover() // of the source
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refresh = time.Now().Add(refreshPause)
	}()
	_, _ = c.askCurrent(ctx)
}

func (c *cachedKeys) askCurrent(ctx context.Context) (*aesKey, error) {
	done, err := c.wait(ctx, "")
	if err != nil {
		return nil, err
	}
	defer done()
	if k := c.lastKey(c.keep); k != nil { // another goroutine has asked
		return k, nil
	}
	k, err := c.ask(func() (Key, error) { return c.source.Current(ctx) })
	if err != nil {
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
	if k, err := c.find(id); k != nil || err != nil {
		return k, err
	}
	done, err := c.wait(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	if k, err := c.find(id); k != nil || err != nil {
		return k, err
	}
	k, err := c.ask(func() (Key, error) { return c.source.ByID(ctx, id) })
	switch {
	case err != nil:
		err = fmt.Errorf("asking for key %q: %w", id, err)
		if errors.Is(err, ErrNoKey) {
			c.lacks(id, err)
		}
		return nil, err
	case k.id != id:
		return nil, fmt.Errorf("asking for key %q: the source returned key %q", id, k.id)
	}
	return k, nil
}

// lacks keeps the answer that there is no key of an ID.
func (c *cachedKeys) lacks(id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(c.missing, func(_ string, m missingKey) bool { return now.Sub(m.at) >= missingFor })
	if len(c.missing) < maxKeys {
		c.missing[id] = missingKey{err, now}
	}
}

// wait waits until nobody else asks for a key. A key service that hangs for one key holds up no other. The caller must call done.
func (c *cachedKeys) wait(ctx context.Context, id string) (done func(), err error) {
	c.mu.Lock()
	a := c.asking[id]
	if a == nil {
		a = &asking{turn: make(chan struct{}, 1)}
		c.asking[id] = a
	}
	a.users++
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.users--; a.users == 0 {
			delete(c.asking, id)
		}
	}
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
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

// find returns the key of an ID, if it is kept, or why there is none.
func (c *cachedKeys) find(id string) (*aesKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kept[id]; k != nil {
		k.used = time.Now()
		return k.key, nil
	}
	if m, ok := c.missing[id]; ok && time.Since(m.at) < missingFor {
		return nil, m.err
	}
	return nil, nil //nolint:nilnil // not known
}
