package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Unrecorded is the level that a store without a record allows: the last one before stores had a record.
const Unrecorded = 5

// The place of the record.
const (
	levelSpace = "perdure"
	levelKey   = "engine/level"
)

const (
	// reread is the age at which what was read of the record is read again.
	reread = time.Minute
	// patience bounds a read, so that a store that hangs does not hold a start up for long.
	patience = 2 * time.Second
)

// Level is the level that a store allows, as this process read it last. Many goroutines may use it at once.
type Level struct {
	store   *provider.Full
	own     int64 // that this process runs
	allowed atomic.Int64

	reader chan struct{} // held by the goroutine that reads; it guards what follows
	next   time.Time     // of the next read
	none   bool          // the store keeps no records

	known atomic.Bool // the record was read, or there is none
}

// New returns the level of a store for a process that runs executions up to the level own. Nothing is read yet.
func New(store *provider.Full, own int64) *Level {
	l := &Level{store: store, own: own, reader: make(chan struct{}, 1)}
	l.allowed.Store(min(own, Unrecorded))
	return l
}

// Own returns the highest level that this process runs.
func (l *Level) Own() int64 { return l.own }

// Allowed returns the level that new executions may use. It reads nothing.
func (l *Level) Allowed() int64 { return l.allowed.Load() }

// settled reports whether a read can change nothing any more: the level never falls, and this process uses no higher one.
func (l *Level) settled() bool { return l.Allowed() >= l.own }

// Current returns the level that new executions may use. It reads the record if what is known is a minute old. It never
// waits for another goroutine that reads. While the store cannot be read, what is known holds.
func (l *Level) Current(ctx context.Context) int64 {
	if l.settled() {
		return l.Allowed()
	}
	select {
	case l.reader <- struct{}{}:
		defer func() { <-l.reader }()
		if now := time.Now(); !l.none && !now.Before(l.next) {
			_ = l.reread(ctx, now) // an older level is always right
		}
	default:
	}
	return l.Allowed()
}

// Again is Current with a read now, for a caller that would otherwise refuse something. It waits for another goroutine that reads, until
// ctx is done. An error means that what it returns may be too low.
func (l *Level) Again(ctx context.Context) (int64, error) {
	if l.settled() {
		return l.Allowed(), nil
	}
	select {
	case l.reader <- struct{}{}:
		defer func() { <-l.reader }()
	case <-ctx.Done():
		return l.Allowed(), fmt.Errorf("reading the level of the store: %w", context.Cause(ctx))
	}
	var err error
	if !l.none {
		err = known(l.reread(ctx, time.Now()))
	}
	return l.Allowed(), err
}

// Learn reads the record unless it was read before. An error means that what the store allows is not known.
func (l *Level) Learn(ctx context.Context) error {
	if l.known.Load() || l.settled() {
		return nil
	}
	_, err := l.Again(ctx)
	return err
}

// reread reads the record. The caller holds reader.
func (l *Level) reread(ctx context.Context, now time.Time) error {
	l.next = now.Add(reread)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.read(ctx)
}

// Open reads the record, and writes it if no node has used the store: then the newest level of this process is allowed.
func (l *Level) Open(ctx context.Context) error {
	select {
	case l.reader <- struct{}{}:
		defer func() { <-l.reader }()
	case <-ctx.Done():
		return fmt.Errorf("reading the level of the store: %w", ctx.Err())
	}
	l.next = time.Now().Add(reread)
	err := l.read(ctx)
	if !errors.Is(err, provider.ErrNotFound) {
		return known(err)
	}
	empty, err := isEmpty(ctx, l.store)
	if err != nil || !empty {
		return err
	}
	if err := put(ctx, l.store, record{Level: l.own}); err != nil && !errors.Is(err, provider.ErrConflict) {
		return err
	}
	return known(l.read(ctx)) // another node may have been first
}

// read reads the record. The caller holds reader.
func (l *Level) read(ctx context.Context) error {
	r, err := find(ctx, l.store)
	if err == nil && r.Level > l.Allowed() {
		l.allowed.Store(min(r.Level, l.own))
	}
	l.none = l.none || errors.Is(err, errors.ErrUnsupported)
	if known(err) == nil {
		l.known.Store(true)
	}
	return err
}

// known returns nil for the errors of a store without a record.
func known(err error) error {
	if errors.Is(err, provider.ErrNotFound) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// record is the stored level.
type record struct {
	Level int64 `json:"level"`

	version int64 // of the stored record; 0: there is none
}

// find reads the record: ErrNotFound if there is none.
func find(ctx context.Context, store provider.Keeper) (r record, err error) {
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: levelSpace, Key: levelKey})
	if err != nil {
		return r, fmt.Errorf("reading the level of the store: %w", err)
	}
	if err := json.Unmarshal(res.Records[0].Value, &r); err != nil {
		return r, fmt.Errorf("reading the level of the store: %w", err)
	}
	r.version = res.Records[0].Version
	return r, nil
}

// put writes the record in the place of the version that it names.
func put(ctx context.Context, store provider.Keeper, r record) error {
	value, err := json.Marshal(r)
	if err == nil {
		_, err = store.Record(ctx, provider.RecordRequest{
			Action: provider.RecordPut, Namespace: levelSpace, Key: levelKey, Value: value, Expect: r.version,
		})
	}
	if err != nil {
		return fmt.Errorf("writing the level of the store: %w", err)
	}
	return nil
}

// unbegun bounds how many instances may wait on a store that no node has used.
const unbegun = 100

// isEmpty reports whether no node has used the store: it has no instance, or a few that clients have started and that no node has
// begun. A store that cannot list counts as one with data.
func isEmpty(ctx context.Context, store provider.Lister) (bool, error) {
	res, err := store.List(ctx, provider.ListRequest{
		Filter: provider.Filter{Replaced: true}, Max: unbegun,
		Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking whether the store is empty: %w", err)
	}
	begun := func(i provider.Instance) bool { // not one that an operator has suspended or terminated, whose only event is that
		return i.HistoryLength > 1 || i.HistoryLength == 1 && !i.Status.Ended() || i.Deliveries > 0 || i.Execution > 1
	}
	return res.Cursor == "" && !slices.ContainsFunc(res.Instances, begun), nil
}

type releaseKey struct{}

// As returns a context for runtime.Start that starts a node which runs executions up to a level only, as an older release
// does. It is for tests.
func As(ctx context.Context, level int64) context.Context {
	return context.WithValue(ctx, releaseKey{}, level)
}

// OwnLevel returns the level that As put into the context, or that of this release.
func OwnLevel(ctx context.Context) int64 {
	if level, ok := ctx.Value(releaseKey{}).(int64); ok {
		return level
	}
	return replay.EngineLevel
}
