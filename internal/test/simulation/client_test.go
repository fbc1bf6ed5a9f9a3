package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
)

// visitor is a client or operator of one instance.
type visitor struct {
	*sim

	in  *Instance
	own *handle
	c   *client.Client
	h   client.Handle[State]
}

// callTime is how long one call of a client may take before it is given up and made again.
const callTime = 40 * time.Second

func (s *sim) visitor(in *Instance, name string) (*visitor, error) {
	of := newHandle(in.ID+"."+name, s.gate, s.broken)
	c, err := client.New(of, client.Options{Logger: slog.New(slog.DiscardHandler)})
	return &visitor{sim: s, in: in, own: of, c: c}, err
}

// passes reports whether an error only says that a call may be made again.
func passes(err error) bool {
	for _, known := range []error{
		client.ErrOutcomeUnknown, context.DeadlineExceeded, errLost, client.ErrUnserved, client.ErrQueryTimeout, client.ErrNotFinished, client.ErrBusy,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// try makes a call until it has an outcome, which is one of the allowed errors or nil. It reports false if there is none.
func (v *visitor) try(ctx context.Context, what string, do func(ctx context.Context) error, allowed ...error) (err error, ok bool) { //nolint:revive // an error is an outcome here
	wait := time.Second
	for until := time.Now().Add(patience / 2); time.Now().Before(until); {
		brief, cancel := context.WithTimeout(ctx, callTime)
		err = do(brief)
		cancel()
		switch {
		case ctx.Err() != nil:
			return err, false
		case err == nil, slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }):
			v.gate.notef("%s %s: %s", v.in.ID, what, outcomeOf(err))
			return err, true
		case !passes(err):
			v.wrongf("%s: %s: %v", v.in.ID, what, err)
			return err, false
		}
		if !v.pause(ctx, wait) {
			return err, false
		}
		wait = min(2*wait, 16*time.Second)
	}
	v.wrongf("%s: %s: never succeeds: %v", v.in.ID, what, err)
	return err, false
}

func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return "refused"
}

// pause waits. It reports false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause waits, and then until the gate lets the client go on: others may be due at the same moment.
func (v *visitor) pause(ctx context.Context, d time.Duration) bool {
	return pause(ctx, d) && v.own.run(ctx, "on") == nil
}

// ends reports whether the instance may end before it has all that is sent.
func (i *Instance) ends() bool { return i.Act == actCancel || i.Act == actTerminate }

// late are the errors of what is sent to an instance that may have ended.
func (i *Instance) late() []error {
	if i.ends() {
		return []error{client.ErrEnded, client.ErrClosing, client.ErrAbandoned}
	}
	return nil
}

// visit starts the instance and sends what its n-th client sends.
func (v *visitor) visit(ctx context.Context, n int) {
	eager := v.in.Eager && n == 0
	begin := time.Duration(0)
	if eager {
		begin = 2 * time.Second // a node has started by then
	}
	if !v.pause(ctx, begin) || !v.start(ctx, eager) {
		return
	}
	var note, update string // the last that were acknowledged
	for _, s := range v.in.Clients[n] {
		if !v.pause(ctx, seconds(s.After)) {
			return
		}
		times := 1
		if s.Twice {
			times = 2
		}
		for range times {
			switch s.Do {
			case sendEvent, sendNote:
				if !v.raise(ctx, s) {
					return
				}
				if s.Do == sendNote {
					note = s.request()
				}
			case sendUpdate:
				if !v.update(ctx, s) {
					return
				}
				update = s.request()
			default:
				if !v.view(ctx, note, update) {
					return
				}
			}
		}
	}
}

// request is the request ID of an event, or the ID of an update.
func (s *Send) request() string { return fmt.Sprint(s.Do, " ", s.N) }

// start starts the instance, if eager through a node. Each client makes the same request.
func (v *visitor) start(ctx context.Context, eager bool) bool {
	_, ok := v.try(ctx, "start", func(ctx context.Context) (err error) {
		c := v.c
		if eager {
			eager, c = false, v.client(v.c)
		}
		h, err := client.StartNamed[State](ctx, c, nameRun, State{Name: v.in.ID, Plan: v.in.Plan},
			client.WithID(v.in.ID), client.WithRequestID("start "+v.in.ID), client.WithVersion(v.in.Version))
		v.h = client.HandleOf[State](v.c, h.ID(), h.Key()) // the node may die
		return err
	})
	if ok {
		v.of(v.in.ID, func(s *seen) { s.keys = append(s.keys, v.h.Key()) })
	}
	return ok
}

// client returns the client of a node that has started; other: that of no node.
func (s *sim) client(other *client.Client) *client.Client {
	for _, n := range s.nodes() {
		n.mu.Lock()
		rt := n.rt
		n.mu.Unlock()
		if rt == nil {
			continue
		}
		c, err := rt.Client(client.Options{CallTimeout: callTime / 2})
		if err != nil {
			s.wrongf("client of %s: %v", n.handle.name, err)
		}
		return c
	}
	return other
}

// errMaybe is that of an event that an earlier try may have stored. The instance may have ended because of it.
var errMaybe = errors.New("the event may be stored")

// raise sends an event. It reports false if the client need not go on.
func (v *visitor) raise(ctx context.Context, s Send) bool {
	name := eventBox
	if s.Do == sendNote {
		name = eventNote
	}
	doubtful := false
	err, ok := v.try(ctx, s.request(), func(ctx context.Context) error {
		err := v.h.Raise(ctx, name, s.N, client.WithRequestID(s.request()))
		doubtful = doubtful || passes(err)
		if doubtful && errors.Is(err, client.ErrEnded) {
			return errMaybe
		}
		return err
	}, append(v.raised(s), errMaybe)...)
	if ok && err == nil {
		v.of(v.in.ID, func(known *seen) {
			if !slices.ContainsFunc(known.sent, func(o Send) bool { return o.Do == s.Do && o.N == s.N }) {
				known.sent = append(known.sent, s)
			}
		})
	}
	return ok && err == nil
}

// raised are the errors that a client may get for an event. One that was taken before may have let the instance end.
func (v *visitor) raised(s Send) (allowed []error) {
	v.of(v.in.ID, func(known *seen) {
		if slices.ContainsFunc(known.sent, func(o Send) bool { return o.Do == s.Do && o.N == s.N }) {
			allowed = []error{client.ErrEnded}
		}
	})
	return append(allowed, v.in.late()...)
}

// update makes an update. Each repeat must have the same outcome.
func (v *visitor) update(ctx context.Context, s Send) bool {
	var got Answer
	err, ok := v.try(ctx, s.request(), func(ctx context.Context) (err error) {
		got, err = client.Update[Answer](ctx, v.h, updateAdd, s.request(), client.WithUpdateID(s.request()))
		return err
	}, v.in.late()...)
	if !ok || err != nil {
		return false
	}
	var before Answer
	var told bool
	v.of(v.in.ID, func(known *seen) {
		before, told = known.answers[s.request()]
		known.answers[s.request()] = got
	})
	if told && before != got {
		v.wrongf("%s: %s was %+v, and is %+v", v.in.ID, s.request(), before, got)
	}
	return true
}

// view asks the code. The answer must show what the client knows to be taken.
func (v *visitor) view(ctx context.Context, note, update string) bool {
	var opts []client.QueryOption
	if note != "" {
		opts = append(opts, client.After(note))
	}
	var got View
	err, ok := v.try(ctx, "view", func(ctx context.Context) (err error) {
		got, err = client.Query[View](ctx, v.h, queryView, none{}, opts...)
		return err
	}, append(v.in.late(), client.ErrUnknownQuery)...)
	if err != nil || !ok || v.in.Act == actReset {
		return ok
	}
	// What comes after the function has returned, because the instance was cancelled, leads to nothing.
	if note != "" && !v.in.ends() && !slices.ContainsFunc(got.Noted, func(n int) bool { return (&Send{Do: sendNote, N: n}).request() == note }) {
		v.wrongf("%s: a query after %s does not show it: %v", v.in.ID, note, got.Noted)
	}
	if update != "" && !slices.Contains(got.Added, update) {
		v.wrongf("%s: a query does not show %s, whose outcome is known: %v", v.in.ID, update, got.Added)
	}
	return true
}

// operate acts on the instance.
func (v *visitor) operate(ctx context.Context) {
	if !v.pause(ctx, seconds(v.in.ActAt)) || !v.start(ctx, false) {
		return
	}
	v.of(v.in.ID, func(s *seen) { s.tried = true })
	var err error
	var ok bool
	switch v.in.Act {
	case actSuspend:
		v.suspend(ctx)
		return
	case actCancel:
		err, ok = v.try(ctx, "cancel", func(ctx context.Context) error { return v.h.Cancel(ctx, "an operator") }, client.ErrEnded)
	case actTerminate:
		err, ok = v.try(ctx, "terminate", func(ctx context.Context) error { return v.h.Terminate(ctx, "an operator") }, client.ErrEnded)
	case actMove:
		err, ok = v.try(ctx, "move", func(ctx context.Context) error { return v.h.Move(ctx, "2") }, client.ErrEnded)
	case actReset:
		v.reset(ctx)
		return
	case actRetry:
		v.retry(ctx)
		return
	}
	if !ok || err != nil {
		return
	}
	v.of(v.in.ID, func(s *seen) { s.acted = true })
	d, ok := v.describe(ctx)
	switch {
	case !ok:
	case v.in.Act == actTerminate && d.Status != client.StatusTerminated:
		v.wrongf("%s: it was terminated, and is %v", v.in.ID, d.Status)
	case v.in.Act == actMove && d.CodeVersion != "2":
		v.wrongf("%s: it was moved to version 2, and has version %q", v.in.ID, d.CodeVersion)
	}
}

func (v *visitor) describe(ctx context.Context) (d client.Description, ok bool) {
	_, ok = v.try(ctx, "describe", func(ctx context.Context) (err error) {
		d, err = v.h.Describe(ctx)
		return err
	})
	return d, ok
}

// suspend suspends the instance for a while. Nothing of it may go on.
func (v *visitor) suspend(ctx context.Context) {
	err, ok := v.try(ctx, "suspend", func(ctx context.Context) error { return v.h.Suspend(ctx, "an operator") }, client.ErrEnded)
	if !ok || err != nil {
		return
	}
	before, ok := v.describe(ctx)
	if !ok || !v.pause(ctx, seconds(v.in.For)) {
		return
	}
	after, ok := v.describe(ctx)
	if ok && (before.Status != client.StatusSuspended || after.Status != client.StatusSuspended || before.HistoryLength != after.HistoryLength) {
		v.wrongf("%s: it was suspended, and is %v with %d events, then %v with %d",
			v.in.ID, before.Status, before.HistoryLength, after.Status, after.HistoryLength)
	}
	_, _ = v.try(ctx, "resume", func(ctx context.Context) error { return v.h.Resume(ctx, "an operator") }, client.ErrEnded)
}

// retry gives up the attempts of all pending activities.
func (v *visitor) retry(ctx context.Context) {
	d, ok := v.describe(ctx)
	for i := range d.Activities {
		if !ok {
			return
		}
		_, ok = v.try(ctx, "retry", func(ctx context.Context) error {
			return v.h.Activity(d.Ref(&d.Activities[i])).Retry(ctx, "an operator")
		}, client.ErrConflict, client.ErrNotFound, client.ErrEnded)
	}
}

// reset takes the instance back to an event of its history.
func (v *visitor) reset(ctx context.Context) {
	var points []int64
	for e, err := range v.h.History(ctx, 0) {
		if err != nil {
			return // it has not begun
		}
		points = append(points, e.ID)
	}
	if len(points) == 0 {
		return
	}
	at := points[v.in.For%len(points)]
	_, _ = v.try(ctx, "reset", func(ctx context.Context) error {
		_, err := client.Reset(ctx, v.h, at, client.Repeatable("reset "+v.in.ID))
		return err
	}, client.ErrBadPoint, client.ErrSuperseded, client.ErrUnserved)
}

// complete ends an attempt of an activity from outside, a moment later. Another attempt, or the end of the instance, makes that void.
func (s *sim) complete(ctx context.Context, effect, token string, value int) {
	v, err := s.visitor(&Instance{ID: effect}, fmt.Sprint(value))
	if err != nil {
		s.wrongf("client: %v", err)
		return
	}
	s.visiting.Add(1)
	s.work.Go(func() {
		defer s.visiting.Add(-1)
		if !v.pause(ctx, seconds(1+value%5)) {
			return
		}
		err, ok := v.try(ctx, "complete", func(ctx context.Context) error {
			return client.CompleteActivity(ctx, v.c, token, value)
		}, activity.ErrLeaseLost, activity.ErrAlreadyCompleted, client.ErrEnded, client.ErrNotFound)
		if ok && err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told[effect] = append(s.told[effect], value)
		}
	})
}
