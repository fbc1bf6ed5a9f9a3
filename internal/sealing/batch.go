package sealing

import (
	"context"
	"encoding/hex"
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
	// renewTimeout bounds it for heartbeat details, which must not cost the lease, and for why a turn is released.
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

// silent is the finding of an outage.
func silent(err error) error { return fmt.Errorf("the codec does not answer: %w", err) }

// sealer collects what a request has to seal. Its methods get places in a copy of the request.
type sealer struct {
	items []codec.Plain
	puts  []func(history.Kept) error
	keys  []*string // of groups of failures, which become digests
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

// size returns about how many bytes the sealed items have.
func (s *sealer) size(growth int) (n int) {
	for i := range s.items {
		n += len(s.items[i].Bytes) + growth
	}
	return n
}

// seal seals what was added. It makes no call if that is nothing.
func (st *Store) seal(ctx context.Context, op string, inTx bool, s *sealer) error {
	if len(s.items) == 0 || !st.seals {
		return nil
	}
	if err := st.allowed(ctx, inTx); err != nil {
		st.faults.failed(err)
		return err
	}
	sealed, err := st.callSeal(ctx, s.items)
	for i := 0; err == nil && i < len(sealed); i++ {
		err = s.puts[i](history.Kept{Key: sealed[i].KeyID, Bytes: sealed[i].Bytes})
	}
	for i := 0; err == nil && i < len(s.keys); i++ {
		*s.keys[i], err = st.digest(ctx, *s.keys[i])
	}
	if err != nil {
		st.faults.failed(silent(err))
		return outage(op, err)
	}
	st.faults.answered()
	return nil
}

const minDigest = 16 // bytes

// digest returns what is stored in place of the key of a group, which would tell who can guess a text whether it was right. Without a
// codec.Digester that is nothing.
func (st *Store) digest(ctx context.Context, key string) (stored string, err error) {
	by, ok := st.codec.(codec.Digester)
	if !ok {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errPanicked, p)
		}
	}()
	sum, err := by.Digest(ctx, []byte(key))
	if err == nil && len(sum) < minDigest {
		err = fmt.Errorf("%w: a digest has %d bytes, want %d or more", errPromise, len(sum), minDigest)
	}
	if err != nil {
		return "", err
	}
	rule, _, _ := strings.Cut(key, "-")
	return rule + "m-" + hex.EncodeToString(sum[:minDigest]), nil
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
	sealed := *at // a batch is opened again in parts, also what was put already
	secrets, err := history.EventSecrets(sealed)
	if err != nil || secrets.Key == "" {
		return
	}
	o.add(codec.Sealed{Purpose: codec.Event, KeyID: secrets.Key, Bytes: secrets.Bytes}, func(plain []byte) error {
		opened, err := history.OpenEvent(sealed, plain)
		if err == nil {
			*at = opened
		}
		return err
	}, func(n history.Note) { *at = history.NotedEvent(sealed, n) })
}

// whole adds a byte string that is no event.
func (o *opener) whole(p codec.Purpose, at *[]byte) {
	o.wholeTo(p, *at, func(data []byte) { *at = data })
}

// text adds a text that is sealed as a whole.
func (o *opener) text(p codec.Purpose, at *string) {
	o.wholeTo(p, []byte(*at), func(data []byte) { *at = string(data) })
}

// wholeTo adds a byte string that is no event, and calls a function with what becomes of it.
func (o *opener) wholeTo(p codec.Purpose, sealed []byte, put func(data []byte)) {
	if !history.IsSealed(sealed) {
		return
	}
	secrets, err := history.Secrets(sealed)
	if err != nil {
		return
	}
	o.add(codec.Sealed{Purpose: p, KeyID: secrets.Key, Bytes: secrets.Bytes}, func(plain []byte) error {
		put(plain)
		return nil
	}, func(n history.Note) { put(history.Noted(sealed, n)) })
}

func (o *opener) add(item codec.Sealed, put func([]byte) error, note func(history.Note)) {
	o.items, o.puts, o.notes = append(o.items, item), append(o.puts, put), append(o.notes, note)
}

// byKey splits the items by their keys.
func (o *opener) byKey() []*opener {
	var groups []*opener
	of := make(map[string]*opener)
	for i, item := range o.items {
		g := of[item.KeyID]
		if g == nil {
			g = new(opener)
			of[item.KeyID], groups = g, append(groups, g)
		}
		g.add(item, o.puts[i], o.notes[i])
	}
	return groups
}

// halves splits the items in two.
func (o *opener) halves() [2]*opener {
	n := len(o.items) / 2
	return [2]*opener{{o.items[:n], o.puts[:n], o.notes[:n]}, {o.items[n:], o.puts[n:], o.notes[n:]}}
}

// open opens what was added. What has no key stays sealed, and damaged bytes say so. The error is an outage of the codec, after which what it
// concerns stays sealed, too. It makes no call if nothing was added. After an error, what each key has sealed is opened by itself: the outage of
// one key is that of no other.
func (st *Store) open(ctx context.Context, limit time.Duration, o *opener) error {
	if len(o.items) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	groups := o.byKey()
	if len(groups) > 1 {
		all, cancel := share(ctx, 2)
		err := st.openSome(all, o)
		if cancel(); err == nil {
			return st.opened(nil)
		}
	}
	var failed error
	for i, g := range groups {
		if err := st.openGroup(ctx, g, len(groups)-i); failed == nil {
			failed = err
		}
	}
	return st.opened(failed)
}

// share returns a context with an nth of the time that is left: a key service that hangs for one key must leave time for the others.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline() // open has set it
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(n))
}

// openGroup opens what one key has sealed, within the share of one of n groups. What it returns is an outage.
func (st *Store) openGroup(ctx context.Context, g *opener, n int) error {
	ctx, cancel := share(ctx, n)
	defer cancel()
	return st.search(ctx, g, st.openSome(ctx, g), false)
}

// search halves what one key has sealed until it has found what an error of it concerns. If the key is missing for both halves, it is so for all:
// only another key of the same ID is missing for a part. known says that the key is there.
func (st *Store) search(ctx context.Context, g *opener, err error, known bool) error {
	known = known || damage(err)
	switch {
	case err == nil:
		return nil
	case !separable(err):
		return err
	case len(g.items) == 1 && damage(err):
		g.notes[0](history.Note{Damage: err.Error()})
		st.faults.Note(&history.SealedError{Key: g.items[0].KeyID, Damage: err.Error()})
		return nil
	case len(g.items) == 1:
		st.missing(g, err)
		return nil
	}
	halves := g.halves()
	var errs [2]error
	for i, half := range halves {
		if errs[i] = context.Cause(ctx); errs[i] == nil {
			errs[i] = st.openSome(ctx, half)
		}
		known = known || errs[i] == nil || damage(errs[i])
	}
	if !known {
		st.missing(g, err)
		return nil // also if nothing was heard of a half in time
	}
	var failed error
	for i, half := range halves {
		found := st.search(ctx, half, errs[i], true)
		if found != nil && !separable(errs[i]) {
			found = fmt.Errorf("%w, after: %s", found, err.Error())
		}
		if failed == nil {
			failed = found
		}
	}
	return failed
}

// missing notes that there is no key for what one key has sealed, and what the codec says about that.
func (st *Store) missing(g *opener, err error) {
	why := short(err.Error())
	for _, note := range g.notes {
		note(history.Note{Why: why})
	}
	st.faults.missing(g.items[0].KeyID, why)
}

// damage reports whether an error says that bytes are damaged, which only their key can tell.
func damage(err error) bool {
	return errors.Is(err, codec.ErrDamaged) || errors.Is(err, history.ErrCorrupt)
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
func separable(err error) bool { return damage(err) || errors.Is(err, codec.ErrNoKey) }

func (st *Store) opened(err error) error {
	if err != nil {
		st.faults.failed(silent(err))
		return outage("decrypt", err)
	}
	st.faults.answered()
	return nil
}

// maxOpened bounds the items of a call of the codec: as many as a page of the store has rows.
const maxOpened = provider.MaxPage

// openSome opens items, with as few calls as it can. After an error some may be open.
func (st *Store) openSome(ctx context.Context, o *opener) error {
	for from := 0; from < len(o.items); from += maxOpened {
		to := min(from+maxOpened, len(o.items))
		if err := st.callOpen(ctx, o.items[from:to:to], o.puts[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// callOpen calls the codec, checks what it promises, and puts what it returns.
func (st *Store) callOpen(ctx context.Context, items []codec.Sealed, puts []func(plain []byte) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T", errPanicked, p)
		}
	}()
	plain, err := st.codec.Open(ctx, items)
	if err == nil && len(plain) != len(items) {
		err = fmt.Errorf("%w: %d of %d items opened", errPromise, len(plain), len(items))
	}
	for i := 0; err == nil && i < len(items); i++ {
		err = puts[i](plain[i].Bytes)
	}
	return err
}
