package sealing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

const (
	// callTimeout bounds a call of the codec.
	callTimeout = 10 * time.Second
	// fetchTimeout bounds it for what a fetch has leased.
	fetchTimeout = 5 * time.Second
	// renewTimeout bounds it for heartbeat details, which must not cost the lease.
	renewTimeout = time.Second
)

var (
	errPanicked = errors.New("the codec panicked")
	errPromise  = errors.New("the codec breaks its contract")
)

// ErrHopeless is in an error of a codec that a repeat of the call would return again. Only the command line has such a codec: a service waits
// until somebody mends its own.
var ErrHopeless = errors.New("the codec cannot work")

// outage is the error of a call of the store that was not made, or whose result cannot be read, because the codec does not answer.
func outage(op string, err error) error {
	return &provider.Error{Op: op, Outcome: provider.OutcomeNothing, Retryable: !errors.Is(err, ErrHopeless), Err: fmt.Errorf("codec: %w", err)}
}

// sealer collects what a request has to seal. Its methods get places in a copy of the request.
type sealer struct {
	items []codec.Plain
	puts  []func(history.Kept) error
}

// event adds the values of an event.
func (s *sealer) event(at *[]byte) { s.eventAnd(at, func() {}) }

// eventAnd adds the values of an event, and calls a function when they are sealed.
func (s *sealer) eventAnd(at *[]byte, done func()) {
	secrets, err := history.EventSecrets(*at)
	if secrets.Key != "" {
		*at = history.NotedEvent(*at, history.Note{}) // it is sealed already; notes are not stored
	}
	if err != nil || secrets.Bytes == nil || secrets.Key != "" {
		return // it has no values, is no event, or is sealed already
	}
	s.items = append(s.items, codec.Plain{Purpose: codec.Event, Bytes: secrets.Bytes})
	s.puts = append(s.puts, func(k history.Kept) error {
		sealed, err := history.SealEvent(*at, k)
		if err == nil {
			*at = sealed
			done()
		}
		return err
	})
}

// events adds the values of a list of events, which becomes a copy. It calls a function when one was sealed.
func (s *sealer) events(list *[][]byte, done func()) {
	*list = append([][]byte(nil), *list...)
	for i := range *list {
		s.eventAnd(&(*list)[i], done)
	}
}

// whole adds a byte string that is no event.
func (s *sealer) whole(p codec.Purpose, at *[]byte) {
	if len(*at) == 0 || history.IsSealed(*at) {
		*at = history.Noted(*at, history.Note{}) // notes are not stored
		return
	}
	s.items = append(s.items, codec.Plain{Purpose: p, Bytes: *at})
	s.puts = append(s.puts, func(k history.Kept) error {
		*at = history.EncodeSealed(k)
		return nil
	})
}

// seal seals what was added. It makes no call if that is nothing.
func (st *Store) seal(ctx context.Context, op string, inTx bool, s *sealer) error {
	if len(s.items) == 0 || !st.seals {
		return nil
	}
	if err := st.allowed(ctx, inTx); err != nil {
		return err
	}
	sealed, err := st.callSeal(ctx, s.items)
	for i := 0; err == nil && i < len(sealed); i++ {
		err = s.puts[i](history.Kept{Key: sealed[i].KeyID, Bytes: sealed[i].Bytes})
	}
	if err != nil {
		st.faults.failed(err)
		return outage(op, err)
	}
	st.faults.answered()
	return nil
}

// callSeal calls the codec and checks what it promises.
func (st *Store) callSeal(ctx context.Context, items []codec.Plain) (sealed []codec.Sealed, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errPanicked, p)
		}
	}()
	if sealed, err = st.codec.Seal(ctx, items); err != nil {
		return nil, err
	}
	if len(sealed) != len(items) {
		return nil, fmt.Errorf("%w: %d of %d items sealed", errPromise, len(sealed), len(items))
	}
	for i := range sealed {
		switch grown := len(sealed[i].Bytes) - len(items[i].Bytes); {
		case !codec.ValidKeyID(sealed[i].KeyID):
			return nil, fmt.Errorf("%w: the ID of its key is not 1 to %d bytes of printable ASCII", errPromise, codec.MaxKeyID)
		case grown > st.growth:
			return nil, fmt.Errorf("%w: an item grew by %d bytes, and Growth says %d", errPromise, grown, st.growth)
		}
	}
	return sealed, nil
}

// opener collects what of a result is sealed. Its methods get places in the result, which belongs to the caller.
type opener struct {
	items []codec.Sealed
	puts  []func(plain []byte) error
	notes []func(history.Note) // for what cannot be opened
}

// event adds the values of an event.
func (o *opener) event(at *[]byte) {
	secrets, err := history.EventSecrets(*at)
	if err != nil || secrets.Key == "" {
		return
	}
	o.add(codec.Sealed{Purpose: codec.Event, KeyID: secrets.Key, Bytes: secrets.Bytes}, func(plain []byte) error {
		opened, err := history.OpenEvent(*at, plain)
		if err == nil {
			*at = opened
		}
		return err
	}, func(n history.Note) { *at = history.NotedEvent(*at, n) })
}

// whole adds a byte string that is no event.
func (o *opener) whole(p codec.Purpose, at *[]byte) {
	if !history.IsSealed(*at) {
		return
	}
	secrets, err := history.Secrets(*at)
	if err != nil {
		return
	}
	o.add(codec.Sealed{Purpose: p, KeyID: secrets.Key, Bytes: secrets.Bytes}, func(plain []byte) error {
		*at = plain
		return nil
	}, func(n history.Note) { *at = history.Noted(*at, n) })
}

// text adds a text that is sealed as a whole.
func (o *opener) text(p codec.Purpose, at *string) {
	if data := []byte(*at); history.IsSealed(data) {
		o.whole(p, &data)
		if n := len(o.puts) - 1; n >= 0 {
			o.puts[n] = func(plain []byte) error {
				*at = string(plain)
				return nil
			}
		}
	}
}

func (o *opener) add(item codec.Sealed, put func([]byte) error, note func(history.Note)) {
	o.items, o.puts, o.notes = append(o.items, item), append(o.puts, put), append(o.notes, note)
}

// open opens what was added. What has no key stays sealed, and damaged bytes say so. The error is an outage of the codec, after which the rest
// stays sealed, too. It makes no call if nothing was added.
func (st *Store) open(ctx context.Context, limit time.Duration, o *opener) error {
	if len(o.items) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := st.openSome(ctx, o, 0, len(o.items))
	if !separable(err) {
		return st.opened(err)
	}
	for i := range o.items {
		err := st.openSome(ctx, o, i, i+1)
		switch {
		case errors.Is(err, codec.ErrDamaged), errors.Is(err, history.ErrCorrupt):
			o.notes[i](history.Note{Damage: err.Error()})
			st.faults.Note(&history.SealedError{Key: o.items[i].KeyID, Damage: err.Error()})
		case errors.Is(err, codec.ErrNoKey):
			why := short(err.Error())
			o.notes[i](history.Note{Why: why})
			st.faults.missing(o.items[i].KeyID, why)
		case err != nil:
			return st.opened(err)
		}
	}
	return st.opened(nil)
}

// maxWhy bounds what a codec says about a key, in bytes.
const maxWhy = 512

func short(text string) string {
	if len(text) > maxWhy {
		return strings.ToValidUTF8(text[:maxWhy], "") + " ..."
	}
	return text
}

// separable reports whether an error of a batch concerns only some of its items.
func separable(err error) bool {
	return errors.Is(err, codec.ErrDamaged) || errors.Is(err, codec.ErrNoKey) || errors.Is(err, history.ErrCorrupt)
}

func (st *Store) opened(err error) error {
	if err != nil {
		st.faults.failed(err)
		return outage("decrypt", err)
	}
	st.faults.answered()
	return nil
}

// openSome opens some of the items.
func (st *Store) openSome(ctx context.Context, o *opener, from, to int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errPanicked, p)
		}
	}()
	plain, err := st.codec.Open(ctx, o.items[from:to:to])
	if err == nil && len(plain) != to-from {
		err = fmt.Errorf("%w: %d of %d items opened", errPromise, len(plain), to-from)
	}
	for i := 0; err == nil && i < len(plain); i++ {
		err = o.puts[from+i](plain[i].Bytes)
	}
	return err
}
