package validations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

func loads() []load {
	many := []int{1, 8, 64}
	return []load{
		{name: "create", callers: many, caller: newCreator},
		{name: "create-claimed", callers: []int{1, 8}, caller: newClaimer},
		{name: "send", callers: many, caller: newSender},
		{name: "step", callers: many, caller: newStepper},
		{name: "turn", callers: many, caller: newTurner},
		{name: "task", callers: []int{1, 8}, caller: newTasker},
		{name: "history", callers: []int{1}, caller: newReader, bytes: benchEvents * benchEventBytes},
		{name: "wake", callers: []int{1}, caller: newWaker, rests: true},
		{name: "life", callers: []int{1}, caller: newLiver, rests: true},
	}
}

// sample is a typical payload of some fifty bytes.
var sample = []byte(`{"amount":1234,"currency":"EUR","order":"order-42"}`) //nolint:gochecknoglobals // constant

// creator stores instances.
type creator struct {
	p    provider.Provider
	name string
	n    int64
}

func newCreator(_ context.Context, p provider.Provider, n int) (caller, error) {
	return &creator{p: p, name: fmt.Sprint("creator-", n)}, nil
}

func (c *creator) do(ctx context.Context) (time.Time, error) {
	began := time.Now()
	_, err := c.p.Create(ctx, sampleCreate(c.name))
	c.n++
	return began, err
}

func (c *creator) verify(ctx context.Context) error {
	res, err := provider.FullOf(c.p).Count(ctx, provider.CountRequest{Filter: provider.Filter{Name: c.name}})
	if err == nil && res.Count != c.n {
		err = fmt.Errorf("%d instances, want %d", res.Count, c.n)
	}
	return err
}

// claimer stores instances that its own fetch waits for.
type claimer struct {
	creator

	rest    time.Duration // before each create, so that the fetch is parked
	fetched chan error
}

func newClaimer(_ context.Context, p provider.Provider, n int) (caller, error) {
	return &claimer{creator: creator{p: p, name: fmt.Sprint("claimer-", n)}, fetched: make(chan error, 1)}, nil
}

// newWaker makes a claimer whose store is idle for a while before each create.
func newWaker(_ context.Context, p provider.Provider, n int) (caller, error) {
	return &claimer{creator: creator{p: p, name: fmt.Sprint("waker-", n)}, fetched: make(chan error, 1), rest: 10 * time.Millisecond}, nil
}

func (c *claimer) do(ctx context.Context) (time.Time, error) {
	go func() {
		_, err := fetchFor(ctx, c.p, c.name)
		c.fetched <- err
	}()
	if c.rest > 0 {
		<-time.After(c.rest)
	}
	began, err := c.creator.do(ctx)
	return began, errors.Join(err, <-c.fetched)
}

// driven is an instance driven by one caller.
type driven struct {
	p        provider.Provider
	name     string
	instance provider.Instance // as of the last commit
}

// drive creates an instance and commits its first turn.
func drive(ctx context.Context, p provider.Provider, name string) (driven, error) {
	d := driven{p: p, name: name}
	if _, err := p.Create(ctx, sampleCreate(name)); err != nil {
		return d, err
	}
	u, err := fetchFor(ctx, p, name)
	if err != nil {
		return d, err
	}
	return d, d.commit(ctx, commitOf(u), u.Instance)
}

// commit stores a turn with two events on top of the stored instance.
func (d *driven) commit(ctx context.Context, req provider.CommitTurnRequest, on provider.Instance) error {
	req.Events = [][]byte{sample, sample}
	_, err := d.p.CommitTurn(ctx, req)
	d.instance = on
	d.instance.Version, d.instance.HistoryLength = req.Commit, on.HistoryLength+2
	return err
}

func (d *driven) verify(ctx context.Context) error {
	res, err := d.p.Get(ctx, provider.GetRequest{Key: d.instance.Key})
	if err == nil && (res.Instance.Version != d.instance.Version || res.Instance.HistoryLength != d.instance.HistoryLength) {
		err = fmt.Errorf("%d events at version %s, want %d at %s",
			res.Instance.HistoryLength, res.Instance.Version, d.instance.HistoryLength, d.instance.Version)
	}
	return err
}

// sender sends to an instance, and to another one before the inbox is full.
type sender struct {
	p    provider.Provider
	to   provider.Instance
	sent int64
}

const inboxOfSender = 10_000

func newSender(ctx context.Context, p provider.Provider, _ int) (caller, error) {
	s := &sender{p: p}
	return s, s.next(ctx)
}

func (s *sender) next(ctx context.Context) error {
	res, err := s.p.Create(ctx, sampleCreate("receiver"))
	s.to, s.sent = res.Instance, 1
	return err
}

func (s *sender) do(ctx context.Context) (time.Time, error) {
	began := time.Now()
	_, err := s.p.Send(ctx, provider.SendRequest{Key: s.to.Key, Message: sampleMessage()})
	if s.sent++; err == nil && s.sent == inboxOfSender {
		err = s.next(ctx)
	}
	return began, err
}

func (s *sender) verify(ctx context.Context) error {
	res, err := s.p.Get(ctx, provider.GetRequest{Key: s.to.Key})
	if err == nil && res.Instance.InboxMessages != s.sent {
		err = fmt.Errorf("%d messages, want %d", res.Instance.InboxMessages, s.sent)
	}
	return err
}

// stepper hands a task of its instance to itself and completes it in the commit that hands off the next.
type stepper struct {
	driven

	event int64
	token provider.UUID
}

func newStepper(ctx context.Context, p provider.Provider, n int) (caller, error) {
	d, err := drive(ctx, p, fmt.Sprint("stepper-", n))
	s := &stepper{driven: d}
	if err == nil {
		_, err = s.do(ctx) // from here on it holds a task
	}
	return s, err
}

func (s *stepper) do(ctx context.Context) (time.Time, error) {
	req := next(s.instance)
	if s.event > 0 {
		req.Completes = []provider.TaskCompletion{{EventID: s.event, Token: s.token}}
	}
	s.event, s.token = s.instance.HistoryLength+2, unique()
	req.Tasks = []provider.NewTask{{
		EventID: s.event, Queue: queue, Name: activity, Payload: sample,
		Lease: &provider.TaskLease{Token: s.token, Owner: node, Duration: long},
	}}
	began := time.Now()
	return began, s.commit(ctx, req, s.instance)
}

// turner sends its instance a message, fetches the turn and commits it.
type turner struct{ driven }

func newTurner(ctx context.Context, p provider.Provider, n int) (caller, error) {
	d, err := drive(ctx, p, fmt.Sprint("turner-", n))
	return &turner{d}, err
}

func (t *turner) do(ctx context.Context) (time.Time, error) {
	began := time.Now()
	if _, err := t.p.Send(ctx, provider.SendRequest{Key: t.instance.Key, Message: sampleMessage()}); err != nil {
		return began, err
	}
	u, err := fetchFor(ctx, t.p, t.name)
	if err != nil {
		return began, err
	}
	return began, t.commit(ctx, commitOf(u), u.Instance)
}

// tasker fetches and reports the tasks that its instance schedules, a batch in a turn.
type tasker struct {
	driven

	left int
}

const tasksOfTurn = 100

func newTasker(ctx context.Context, p provider.Provider, n int) (caller, error) {
	d, err := drive(ctx, p, fmt.Sprint("tasker-", n))
	t := &tasker{driven: d}
	if err == nil {
		err = t.schedule(ctx, next(t.instance), t.instance)
	}
	return t, err
}

// schedule commits a turn with the next tasks.
func (t *tasker) schedule(ctx context.Context, req provider.CommitTurnRequest, on provider.Instance) error {
	for i := range int64(tasksOfTurn) {
		req.Tasks = append(req.Tasks, provider.NewTask{EventID: on.HistoryLength*tasksOfTurn + i + 1, Queue: t.name, Name: activity, Payload: sample})
	}
	t.left = tasksOfTurn
	return t.commit(ctx, req, on)
}

func (t *tasker) do(ctx context.Context) (time.Time, error) {
	began := time.Now()
	if t.left == 0 {
		u, err := fetchFor(ctx, t.p, t.name)
		if err != nil {
			return began, err
		}
		if err := t.schedule(ctx, commitOf(u), u.Instance); err != nil {
			return began, err
		}
	}
	req := provider.FetchTasksRequest{
		Owner: node, Token: unique(), Lease: long, Max: 1, Wait: long, Queues: []provider.QueueFilter{{Queue: t.name, Names: []string{activity}}},
	}
	fetched, err := t.p.FetchTasks(ctx, req)
	if err == nil && len(fetched.Tasks) != 1 {
		err = fmt.Errorf("got %d tasks, want 1", len(fetched.Tasks))
	}
	if err != nil {
		return began, err
	}
	t.left--
	one := fetched.Tasks[0]
	res, err := t.p.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{
		TaskRef: one.TaskRef, Token: provider.TaskToken(req.Token, one.TaskRef), Attempt: one.Attempt,
		Outcome: provider.TaskComplete, Message: sampleMessage(),
	}}})
	if err == nil {
		err = res.Items[0].Err
	}
	return began, err
}

func (t *tasker) verify(ctx context.Context) error {
	res, err := t.p.Get(ctx, provider.GetRequest{Key: t.instance.Key, WithTasks: true})
	if err == nil && (len(res.Tasks) != t.left || res.Instance.InboxMessages != int64(tasksOfTurn-t.left)) {
		err = fmt.Errorf("%d tasks and %d results, want %d and %d", len(res.Tasks), res.Instance.InboxMessages, t.left, tasksOfTurn-t.left)
	}
	return errors.Join(err, t.driven.verify(ctx))
}

// reader reads a whole history.
type reader struct{ driven }

const benchEvents, benchEventBytes = 1000, 200

func newReader(ctx context.Context, p provider.Provider, n int) (caller, error) {
	d, err := drive(ctx, p, fmt.Sprint("reader-", n))
	if err != nil {
		return nil, err
	}
	req := next(d.instance)
	for range benchEvents - d.instance.HistoryLength {
		req.Events = append(req.Events, bytes.Repeat([]byte("e"), benchEventBytes))
	}
	_, err = p.CommitTurn(ctx, req)
	d.instance.Version, d.instance.HistoryLength = req.Commit, benchEvents
	return &reader{d}, err
}

func (r *reader) do(ctx context.Context) (time.Time, error) {
	began := time.Now()
	for from := int64(1); from <= benchEvents; {
		res, err := r.p.ReadHistory(ctx, provider.ReadHistoryRequest{Key: r.instance.Key, From: from})
		if err == nil && len(res.Events) == 0 {
			err = fmt.Errorf("no events from %d on", from)
		}
		if err != nil {
			return began, err
		}
		from += int64(len(res.Events))
	}
	return began, nil
}
