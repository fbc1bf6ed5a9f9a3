package sealing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Allowed returns an error while a store allows nothing sealed yet. With inTx the caller holds a transaction of the store open.
type Allowed func(ctx context.Context, inTx bool) error

// levelTimeout bounds a read of the level inside a transaction of the caller: it waits for no writer, but does not end if the caller holds the only
// connection.
const levelTimeout = 2 * time.Second

// Refusal makes the error for a level that is too low.
type Refusal struct {
	Of    func(level int64) error
	Waits bool // it is an outage, which ends when the upgrade is finished: a node must not drop what it cannot store yet
}

// AllowedBy asks for the level that a store allows. While that is not known, its error is an outage.
func AllowedBy(level func() *upgrade.Level, refusal Refusal) Allowed {
	return func(ctx context.Context, inTx bool) error {
		l := level()
		if l.Allowed() >= replay.LevelOfLanguage {
			return nil
		}
		if inTx {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, levelTimeout)
			defer cancel()
		}
		allowed, err := l.Again(ctx)
		switch {
		case allowed >= replay.LevelOfLanguage:
			return nil
		case err != nil:
			return &provider.Error{
				Op: "encrypt", Outcome: provider.OutcomeNothing, Retryable: true, Err: fmt.Errorf("asking whether the store allows encrypted payloads: %w", err),
			}
		}
		return &provider.Error{Op: "encrypt", Outcome: provider.OutcomeNothing, Retryable: refusal.Waits, Err: refusal.Of(allowed)}
	}
}

// Store is a provider whose callers have plain values.
type Store struct {
	*provider.Full // that it decorates

	inner   provider.Provider
	codec   codec.Codec
	seals   bool
	growth  int
	faults  *Faults
	allowed Allowed

	made memory
	late shelf[[]byte] // plain heartbeat details that are not stored yet, by token of the task
}

// New returns a provider that seals and opens with a codec.
func New(p provider.Provider, c codec.Codec, faults *Faults, allowed Allowed) *Store {
	if faults != nil {
		faults.codec = true
	}
	return &Store{
		Full: provider.FullOf(p), inner: p, codec: c, seals: codec.Seals(c), growth: c.Growth(), faults: faults, allowed: allowed,
	}
}

// Check refuses a codec that breaks the limits of stores.
func Check(c codec.Codec) error {
	if grown := c.Growth(); grown < 0 || grown > codec.MaxGrowth {
		return fmt.Errorf("the codec adds up to %d bytes to an item: at most %d fit into what stores accept; compress and wrap nothing", grown, codec.MaxGrowth)
	}
	return nil
}

// Codec returns the codec; nil for a nil Store.
func (st *Store) Codec() codec.Codec {
	if st == nil {
		return nil
	}
	return st.codec
}

// Unwrap returns the provider that it decorates: see provider.As.
func (st *Store) Unwrap() provider.Provider { return st.inner }

// Of returns the Store among decorators; nil: there is none.
func Of(p provider.Provider) *Store {
	for p != nil {
		switch t := p.(type) {
		case *Store:
			return t
		case *provider.Full:
			p = t.Provider
		case interface{ Unwrap() provider.Provider }:
			p = t.Unwrap()
		default:
			return nil
		}
	}
	return nil
}

// Under returns the full provider under the Store among decorators, whose bytes are as they are stored. Without a Store it returns p.
func Under(p *provider.Full) *provider.Full {
	if st := Of(p); st != nil {
		return st.Full
	}
	return p
}

// CommitTurn implements provider.Provider.
func (st *Store) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	sealed, err := remember(st, req.Commit, firstOf(req.Events), func(s *sealer) (*provider.CommitTurnRequest, error) {
		out := new(req)
		s.commit(out)
		err := st.seal(ctx, "commit turn", false, s)
		return out, err
	})
	if err != nil {
		return provider.CommitTurnResult{}, err
	}
	res, err := st.Full.CommitTurn(ctx, *sealed)
	st.made.over(req.Commit, err)
	return res, err
}

// Create implements provider.Provider.
func (st *Store) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	sealed, err := st.create(ctx, req, false)
	if err != nil {
		return provider.CreateResult{}, err
	}
	res, err := st.Full.Create(ctx, *sealed)
	st.made.over(req.Commit, err)
	if err == nil {
		st.instances(ctx, &res.Instance)
	}
	return res, err
}

func (st *Store) create(ctx context.Context, req provider.CreateRequest, inTx bool) (*provider.CreateRequest, error) {
	first := firstOf([][]byte{req.Message.Payload})
	if req.First != nil { // a start without its first turn is another request of the same ID
		first = firstOf(req.First.Events)
	}
	return remember(st, req.Commit, first, func(s *sealer) (*provider.CreateRequest, error) {
		out := new(req)
		s.create(out)
		err := st.seal(ctx, "create", inTx, s)
		return out, err
	})
}

// Get implements provider.Provider.
func (st *Store) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if req.WaitValue && req.OldValue != nil {
		old, err := st.storedValue(ctx, &req)
		if err != nil {
			return provider.GetResult{}, err
		}
		req.OldValue = old
	}
	res, err := st.Full.Get(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	o.instance(&res.Instance)
	o.values(res.Values)
	if res.Value != nil {
		o.whole(codec.Value, &res.Value.Value)
	}
	for i := range res.Tasks {
		o.whole(codec.Heartbeat, &res.Tasks[i].Details)
		o.whole(codec.Failure, &res.Tasks[i].Failure)
	}
	if err := st.open(ctx, callTimeout, o); err != nil {
		return provider.GetResult{}, err
	}
	return res, nil
}

// storedValue returns the old value of a wait as it is stored, since the store compares that.
func (st *Store) storedValue(ctx context.Context, req *provider.GetRequest) ([]byte, error) {
	now, err := st.Full.Get(ctx, provider.GetRequest{ID: req.ID, Key: req.Key, Value: req.Value})
	if err != nil || now.Value == nil || !history.IsSealed(now.Value.Value) {
		return req.OldValue, err
	}
	plain, o := now.Value.Value, new(opener)
	o.whole(codec.Value, &plain)
	if err := st.open(ctx, callTimeout, o); err != nil {
		return nil, err
	}
	if bytes.Equal(history.Noted(plain, history.Note{}), history.Noted(req.OldValue, history.Note{})) {
		return now.Value.Value, nil
	}
	return req.OldValue, nil
}

// instances opens what can be opened of instances. The rest stays sealed.
func (st *Store) instances(ctx context.Context, list ...*provider.Instance) {
	o := new(opener)
	for _, in := range list {
		o.instance(in)
	}
	_ = st.open(ctx, callTimeout, o)
}

// Steer implements provider.Provider.
func (st *Store) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	out, s := new(req), new(sealer)
	s.steer(out)
	if err := st.seal(ctx, "steer", false, s); err != nil {
		return provider.SteerResult{}, err
	}
	res, err := st.Full.Steer(ctx, *out)
	if err == nil {
		st.instances(ctx, &res.Instance)
	}
	return res, err
}

// FetchTurns implements provider.Provider. What cannot be opened stays sealed: its turn is given back.
func (st *Store) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := st.Full.FetchTurns(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Turns {
		for n := range res.Turns[i].Messages {
			o.event(&res.Turns[i].Messages[n].Payload)
		}
	}
	_ = st.open(context.WithoutCancel(ctx), fetchTimeout, o) // what was leased is no longer bound to the wait
	return res, nil
}

// ReleaseTurns implements provider.Provider. A release does not wait for the codec: then the text of a failure is left out.
func (st *Store) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return st.Full.ReleaseTurns(ctx, st.releases(ctx, req))
}

// withheld is the text of a failure that could not be sealed.
const withheld = "(the codec did not answer, so the text is left out; the log of the node has the failure)"

func (st *Store) releases(ctx context.Context, req provider.ReleaseTurnsRequest) provider.ReleaseTurnsRequest {
	if !st.seals {
		return req
	}
	out, s := provider.ReleaseTurnsRequest{Items: append([]provider.TurnRelease(nil), req.Items...)}, new(sealer)
	texts := make([][]byte, len(out.Items))
	for i := range out.Items {
		if f := out.Items[i].Failure; f != nil && f.Message != "" {
			texts[i] = []byte(f.Message)
			s.whole(codec.Blocked, &texts[i])
		}
	}
	if len(s.items) == 0 {
		return req
	}
	sealing, cancel := context.WithTimeout(ctx, renewTimeout) // the release itself needs the rest of the time
	defer cancel()
	err := st.seal(sealing, "release turns", false, s)
	for i := range out.Items {
		if texts[i] == nil {
			continue
		}
		f := *out.Items[i].Failure
		if f.Message = string(texts[i]); err != nil {
			f.Message = withheld
		}
		out.Items[i].Failure = &f
	}
	return out
}

// Send implements provider.Provider.
func (st *Store) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	out, s := new(req), new(sealer)
	s.message(&out.Message)
	if err := st.seal(ctx, "send", false, s); err != nil {
		return provider.SendResult{}, err
	}
	return st.Full.Send(ctx, *out)
}

// ReadHistory implements provider.Provider.
func (st *Store) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	res, err := st.Full.ReadHistory(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Events {
		o.event(&res.Events[i].Data)
	}
	if err := st.open(ctx, callTimeout, o); err != nil {
		return provider.ReadHistoryResult{}, err
	}
	return res, nil
}

// List implements provider.Lister. What cannot be opened stays sealed, so that lists can be read without the codec.
func (st *Store) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	res, err := st.Full.List(ctx, req)
	if err != nil {
		return res, err
	}
	list := make([]*provider.Instance, len(res.Instances))
	for i := range res.Instances {
		list[i] = &res.Instances[i]
	}
	st.instances(ctx, list...)
	return res, nil
}

// DeadLetters implements provider.Redriver. What cannot be opened stays sealed.
func (st *Store) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	res, err := st.Full.DeadLetters(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Letters {
		o.event(&res.Letters[i].Payload)
	}
	_ = st.open(ctx, callTimeout, o)
	return res, nil
}

// OpenEvents returns copies of encoded events with their values. An event that cannot be opened is an error.
func OpenEvents(ctx context.Context, c codec.Codec, events [][]byte) ([][]byte, error) {
	st, o, out := &Store{codec: c}, new(opener), slices.Clone(events)
	for i := range out {
		o.event(&out[i])
	}
	if err := st.open(ctx, callTimeout, o); err != nil {
		return nil, err
	}
	for i := range out {
		if _, err := history.Decode(int64(i)+1, out[i]); errors.Is(err, history.ErrSealed) {
			return nil, err
		}
	}
	return out, nil
}

// OpenWhole returns a byte string that is no event as it was before it was sealed. One that cannot be opened is an error.
func OpenWhole(ctx context.Context, c codec.Codec, p codec.Purpose, data []byte) ([]byte, error) {
	st, o := &Store{codec: c}, new(opener)
	o.whole(p, &data)
	if err := st.open(ctx, callTimeout, o); err != nil {
		return nil, err
	}
	return data, history.SealedIn(data)
}
