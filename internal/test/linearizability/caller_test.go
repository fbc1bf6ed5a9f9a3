package linearizability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// A caller is a client goroutine of a run.
type caller struct {
	t      *testing.T
	number int
	client *client.Client
	random *rand.Rand
	names  *atomic.Int64 // of entries and requests of the run
	counts *counts
}

// counts are the figures of runs.
type counts struct {
	calls, unknown, cut, kills, histories, undecided atomic.Int64
}

type handle = client.Handle[[]string]

func (c *caller) name(letter string) string { return fmt.Sprintf("%s%d", letter, c.names.Add(1)) }

func (c *caller) handle(s *subject, key provider.UUID) handle {
	return client.HandleOf[[]string](c.client, s.id, key)
}

// patient is the limit of a call that is not cut.
const patient = time.Minute

// limit returns how long a call that changes something may take. Some are cut, so that their outcome may be unknown.
func (c *caller) limit() time.Duration {
	if c.random.IntN(6) == 0 {
		return between(c.random, 50*time.Microsecond, 4*time.Millisecond)
	}
	return patient
}

// do makes a call and adds it to the history. It reports whether there is a result.
func (c *caller) do(ctx context.Context, s *subject, made call, limit time.Duration, fn func(context.Context) (result, error)) (result, bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Since(s.epoch)
	got, err := fn(ctx)
	ended := time.Since(s.epoch)
	c.counts.calls.Add(1)
	if err != nil {
		var ok bool
		if got, ok = c.judge(made, err); !ok {
			return got, false
		}
	} else {
		got.outcome = succeeded
	}
	if got.outcome == unknown {
		c.counts.unknown.Add(1)
	}
	s.note(c.number, made, got, began, ended)
	return got, true
}

// judge returns the result that an error stands for. ok is false if the error says that the call has had no effect and shown nothing.
func (c *caller) judge(made call, err error) (got result, ok bool) {
	for _, of := range []struct {
		is      error
		outcome outcome
	}{
		{client.ErrOutcomeUnknown, unknown},
		{client.ErrSuperseded, superseded},
		{client.ErrNotFound, notFound},
		{client.ErrClosing, closing},
		{client.ErrAbandoned, abandoned},
		{client.ErrEnded, over},
		{client.ErrRunning, running},
		{client.ErrConflict, conflict},
		{client.ErrUnknownQuery, noSuchQuery},
		{client.ErrExists, inUse},
	} {
		if !errors.Is(err, of.is) {
			continue
		}
		got.outcome = of.outcome
		if e, is := errors.AsType[*client.ExistsError](err); is && of.outcome == inUse {
			got.key, got.status = e.Key.String(), client.Status(e.Status.String())
		}
		return got, true
	}
	cut := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnserved) ||
		errors.Is(err, client.ErrQueryTimeout)
	switch {
	case !cut:
		c.t.Errorf("%v: %v", made, err)
	case made.kind == deleting:
		return result{outcome: unknown}, true
	}
	c.counts.cut.Add(1)
	return got, false
}

// start starts the ID, anew or as before. An entry that begins with w brings an event.
func (c *caller) start(ctx context.Context, s *subject, made call) {
	opts := []client.StartOption{client.WithID(s.id), client.WithRequestID(made.entry), client.WithIDPolicy(made.policy)}
	if made.entry[0] == 'w' {
		opts = append(opts, client.WithEvent(addEntry, "e"+made.entry))
	}
	c.do(ctx, s, made, c.limit(), func(ctx context.Context) (result, error) {
		h, err := client.Start(ctx, c.client, ledger, nil, opts...)
		return result{key: h.Key().String()}, err
	})
}

func (c *caller) restart(ctx context.Context, s *subject, entry string) {
	c.do(ctx, s, call{kind: restarting, entry: entry}, c.limit(), func(ctx context.Context) (result, error) {
		h, err := c.client.Restart(ctx, s.id, "a test", client.Repeatable(entry))
		return result{key: h.Key().String()}, err
	})
}

func (c *caller) lookUp(ctx context.Context, s *subject) {
	c.do(ctx, s, call{kind: lookingUp}, patient, func(ctx context.Context) (result, error) {
		h, err := client.Lookup[[]string](ctx, c.client, s.id)
		return result{key: h.Key().String()}, err
	})
}

// describe describes the instance with the key, or the one that the ID names if it is zero.
func (c *caller) describe(ctx context.Context, s *subject, key provider.UUID) {
	c.do(ctx, s, call{kind: describing, key: text(key)}, patient, func(ctx context.Context) (result, error) {
		describe := c.handle(s, key).Describe
		if key.IsZero() {
			describe = func(ctx context.Context) (client.Description, error) { return c.client.Describe(ctx, s.id) }
		}
		d, err := describe(ctx)
		return result{key: d.Key.String(), status: d.Status, request: d.RequestID, execution: d.Execution}, err
	})
}

// events are the names of the events that bring entries, by the first letter of the entry.
var events = map[byte]string{'e': addEntry, 'r': roll, 's': stop}

func (c *caller) raise(ctx context.Context, s *subject, a arrival) {
	made := call{kind: raising, key: text(a.key), entry: a.entry}
	got, ok := c.do(ctx, s, made, c.limit(), func(ctx context.Context) (result, error) {
		raise := c.handle(s, a.key).Raise
		if a.key.IsZero() {
			raise = func(ctx context.Context, event string, payload any, opts ...client.RaiseOption) error {
				return c.client.Raise(ctx, s.id, event, payload, opts...)
			}
		}
		return result{}, raise(ctx, events[a.entry[0]], a.entry, client.WithRequestID(a.entry))
	})
	a.stored = ok && got.outcome == succeeded
	add(s, &s.raised, a)
}

// send sends an update, and reports whether it is stored.
func (c *caller) send(ctx context.Context, s *subject, a arrival) bool {
	got, ok := c.do(ctx, s, call{kind: sending, key: text(a.key), entry: a.entry}, c.limit(), func(ctx context.Context) (result, error) {
		_, err := client.SendUpdate[[]string](ctx, c.handle(s, a.key), addEntry, a.entry, client.WithUpdateID(a.entry))
		return result{}, err
	})
	ok = ok && got.outcome == succeeded
	if ok {
		s.settle(a.key, a.entry, false)
	}
	return ok
}

// await waits for the outcome of an update, and reports whether it came.
func (c *caller) await(ctx context.Context, s *subject, a arrival, limit time.Duration) bool {
	_, ok := c.do(ctx, s, call{kind: awaiting, key: text(a.key), entry: a.entry}, limit, func(ctx context.Context) (result, error) {
		entries, err := client.UpdateOf[[]string](c.handle(s, a.key), a.entry).Wait(ctx)
		return result{entries: entries}, err
	})
	if ok {
		s.settle(a.key, a.entry, true)
	}
	return ok
}

// query asks for the entries, after an event if one is named, and reports whether an answer came.
func (c *caller) query(ctx context.Context, s *subject, a arrival, limit time.Duration) bool {
	var opts []client.QueryOption
	if a.entry != "" {
		opts = append(opts, client.After(a.entry))
	}
	_, ok := c.do(ctx, s, call{kind: querying, key: text(a.key), entry: a.entry}, limit, func(ctx context.Context) (result, error) {
		got, err := client.Query[page](ctx, c.handle(s, a.key), entriesOf, nil, opts...)
		return result{execution: got.Execution, entries: got.Entries}, err
	})
	return ok
}

// wait waits for the end.
func (c *caller) wait(ctx context.Context, s *subject, key provider.UUID) {
	c.do(ctx, s, call{kind: waiting, key: text(key)}, between(c.random, time.Millisecond, 200*time.Millisecond), func(ctx context.Context) (result, error) {
		entries, err := c.handle(s, key).Wait(ctx)
		got := result{status: client.StatusCompleted, entries: entries}
		switch {
		case errors.Is(err, orchestration.ErrCancelled) && errors.Is(err, client.ErrFailed):
			got.status, err = client.StatusCancelled, nil
		case errors.Is(err, orchestration.ErrTerminated) && errors.Is(err, client.ErrFailed):
			got.status, err = client.StatusTerminated, nil
		}
		return got, err
	})
}

func (c *caller) cancel(ctx context.Context, s *subject, key provider.UUID) {
	c.do(ctx, s, call{kind: cancelling, key: text(key)}, c.limit(), func(ctx context.Context) (result, error) {
		if key.IsZero() {
			return result{}, c.client.Cancel(ctx, s.id, "a test")
		}
		return result{}, c.handle(s, key).Cancel(ctx, "a test")
	})
}

func (c *caller) terminate(ctx context.Context, s *subject, key provider.UUID) {
	c.do(ctx, s, call{kind: ending, key: text(key)}, c.limit(), func(ctx context.Context) (result, error) {
		if key.IsZero() {
			return result{}, c.client.Terminate(ctx, s.id, "a test")
		}
		return result{}, c.handle(s, key).Terminate(ctx, "a test")
	})
}

func (c *caller) delete(ctx context.Context, s *subject, key provider.UUID) {
	c.do(ctx, s, call{kind: deleting, key: text(key)}, patient, func(ctx context.Context) (result, error) {
		_, err := c.handle(s, key).Delete(ctx)
		return result{}, err
	})
}

// text returns the key of a handle as calls have it.
func text(key provider.UUID) string {
	if key.IsZero() {
		return ""
	}
	return key.String()
}

func keyOf(text string) (key provider.UUID, err error) {
	data, err := json.Marshal(text)
	if err == nil {
		err = json.Unmarshal(data, &key)
	}
	return key, err
}

// act makes a random call.
func (c *caller) act(ctx context.Context, s *subject) {
	key, told := s.key(c.random)
	by := key
	if c.random.IntN(2) == 0 {
		by = provider.UUID{} // by the ID
	}
	n := c.random.IntN(100)
	s.mu.Lock()
	probablyOver := s.over
	s.mu.Unlock()
	if !told || probablyOver && c.random.IntN(2) == 0 {
		n = 88 + c.random.IntN(12)
	}
	switch {
	case n < 16:
		c.raise(ctx, s, arrival{key: by, entry: c.name("e")})
	case n < 22:
		if a, ok := some(s, c.random, &s.raised); ok {
			c.raise(ctx, s, a) // again
		}
	case n < 26:
		c.raise(ctx, s, arrival{key: by, entry: c.name("r")})
	case n < 44:
		a := arrival{key: key, entry: c.name("u")}
		add(s, &s.updates, a)
		if c.send(ctx, s, a) || c.random.IntN(2) == 0 {
			c.await(ctx, s, a, between(c.random, 10*time.Millisecond, time.Second))
		}
	case n < 52:
		if a, ok := some(s, c.random, &s.updates); ok && (c.random.IntN(3) == 0 || c.send(ctx, s, a)) {
			c.await(ctx, s, a, between(c.random, time.Millisecond, 500*time.Millisecond))
		}
	case n < 66:
		c.query(ctx, s, arrival{key: key}, between(c.random, time.Millisecond, time.Second))
	case n < 71:
		if a, ok := some(s, c.random, &s.raised); ok && a.stored && a.entry[0] == 'e' && !a.key.IsZero() {
			c.query(ctx, s, a, between(c.random, 10*time.Millisecond, time.Second))
		}
	case n < 80:
		c.describe(ctx, s, by)
	case n < 82:
		c.lookUp(ctx, s)
	case n < 84:
		c.wait(ctx, s, key)
	case n < 86:
		c.raise(ctx, s, arrival{key: by, entry: c.name("s")})
	case n < 87:
		c.cancel(ctx, s, by)
	case n < 88:
		c.terminate(ctx, s, by)
	default:
		c.open(ctx, s, n-88, key)
	}
}

// open makes a call that lets the ID name another instance. n is below 12.
func (c *caller) open(ctx context.Context, s *subject, n int, key provider.UUID) {
	made := call{kind: starting, entry: c.name("q"), policy: []client.IDPolicy{client.Reject, client.UseExisting, client.ReplaceEnded}[n%3]}
	switch {
	case n == 0:
		c.restart(ctx, s, made.entry)
		return
	case n == 1 && !key.IsZero():
		c.delete(ctx, s, key)
		return
	case n < 4:
		if again, ok := some(s, c.random, &s.starts); ok {
			made = again
		}
	case n < 7:
		made.entry, made.policy = c.name("w"), client.UseExisting
	}
	add(s, &s.starts, made)
	c.start(ctx, s, made)
}

// details returns what is stored about an instance that makes no progress.
func (c *caller) details(ctx context.Context, s *subject, key provider.UUID) string {
	d, err := c.handle(s, key).Describe(ctx)
	data, failed := json.MarshalIndent(d, "", "\t")
	return fmt.Sprintf("%s %v %v", data, err, failed)
}

// look makes the last calls to a subject. They show what became of the others, which they must not wait long for.
func (c *caller) look(ctx context.Context, s *subject) {
	s.mu.Lock()
	keys, updates := s.keys[max(0, len(s.keys)-3):], slices.Clone(s.updates)
	s.mu.Unlock()
	for _, a := range updates {
		if a.stored && !a.settled && s.begin(maxCalls-len(keys)-1) && !c.await(ctx, s, a, patient) {
			c.t.Errorf("%s: nothing became of update %s\n%s", s.id, a.entry, c.details(ctx, s, a.key))
		}
	}
	for _, key := range keys {
		if s.begin(maxCalls) && !c.query(ctx, s, arrival{key: key}, patient) {
			c.t.Errorf("%s: the instance does not answer\n%s", s.id, c.details(ctx, s, key))
		}
	}
	if s.begin(maxCalls) {
		c.describe(ctx, s, provider.UUID{})
	}
}
