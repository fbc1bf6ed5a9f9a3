package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// mob makes random calls through several providers over one database. Its only errors may be those of the contract.
type mob struct {
	t     *testing.T
	nodes []*Provider

	mu    sync.Mutex
	keys  []provider.UUID
	tasks []provider.LeasedTask
	token []provider.UUID // of tasks
	calls atomic.Int64
}

func TestStressWithoutDeadlocks(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t, "deadlock_timeout=50ms")
	schema := "stress"
	m := &mob{t: t}
	for range 3 {
		m.nodes = append(m.nodes, opened(t, cluster.URL(), Options{Schema: schema}))
	}
	for i := range 12 {
		m.remember(create(t, m.nodes[0], fmt.Sprint("root", i)).Key)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), longtest.Pick(time.Second, 5*time.Second))
	defer cancel()
	var done sync.WaitGroup
	for worker := range 24 {
		r := rand.New(rand.NewPCG(seed, uint64(worker)))
		done.Go(func() {
			for ctx.Err() == nil {
				m.act(ctx, m.nodes[worker%len(m.nodes)], r)
			}
		})
	}
	done.Wait()
	t.Logf("%d calls", m.calls.Load())
	for _, p := range m.nodes {
		if n := number(t, p, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
			t.Errorf("%d deadlocks", n)
		}
	}
	m.settle()
	checkConsistent(t, m.nodes[0])
}

// settle waits until calls whose callers gave up are done: the committers are stopped.
func (m *mob) settle() {
	for _, p := range m.nodes[1:] {
		if err := p.Close(); err != nil {
			m.t.Error(err)
		}
	}
	p := m.nodes[0]
	p.group.stop()
}

func (m *mob) remember(keys ...provider.UUID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys = append(m.keys, keys...)
	if len(m.keys) > 40 {
		m.keys = m.keys[len(m.keys)-40:]
	}
}

func (m *mob) some(r *rand.Rand) provider.UUID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys[r.IntN(len(m.keys))]
}

// act makes one random call.
func (m *mob) act(ctx context.Context, p *Provider, r *rand.Rand) {
	m.calls.Add(1)
	switch n := r.IntN(100); {
	case n < 30:
		m.turns(ctx, p, r)
	case n < 45:
		m.work(ctx, p, r)
	case n < 60:
		_, err := p.Send(ctx, provider.SendRequest{Key: m.some(r), Message: text("m")})
		m.answered("send", err)
	case n < 75:
		m.create(ctx, p, r)
	case n < 82:
		m.steer(ctx, p, r)
	case n < 85:
		_, err := p.Delete(ctx, provider.DeleteRequest{Key: m.some(r), Force: true})
		m.answered("delete", err)
	case n < 87:
		m.deadLetters(ctx, p)
	case n < 88:
		_, err := p.Prune(ctx, provider.PruneRequest{Max: 3})
		m.answered("prune", err)
	default:
		m.renew(ctx, p, r)
	}
}

// Errors outside of the contract fail the test in answered, unless the end of the test caused them.
func (m *mob) answered(op string, err error) {
	if err == nil || errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errHeld) || isAnswer(err) && !isFailure(err) {
		return
	}
	m.t.Errorf("%s: %v", op, err)
}

func isFailure(err error) bool {
	_, ok := errors.AsType[*provider.Error](err)
	return ok
}

// create starts one of a few IDs, at the root or below another.
func (m *mob) create(ctx context.Context, p *Provider, r *rand.Rand) {
	req := createRequest(fmt.Sprint("root", r.IntN(15)))
	req.Policy = provider.IDPolicy(r.IntN(3))
	if r.IntN(2) == 0 {
		req.ID = fmt.Sprint("child", r.IntN(8))
		req.Parent = provider.Parent{Key: m.some(r), ID: "parent", Execution: 1, EventID: 1}
	}
	res, err := p.Create(ctx, req)
	if err == nil {
		m.remember(res.Instance.Key)
	}
	m.answered("create", err)
}

// turns fetches and commits: messages to each other, children whose IDs collide, tasks, ends.
func (m *mob) turns(ctx context.Context, p *Provider, r *rand.Rand) {
	req := turnsRequest()
	req.Max, req.Lease = 1+r.IntN(4), 100*time.Millisecond
	res, err := p.FetchTurns(ctx, req)
	m.answered("fetch turns", err)
	for i := range res.Turns {
		_, err := p.CommitTurn(ctx, m.commit(&res.Turns[i], req.Token, r))
		m.answered("commit", err)
	}
}

func (m *mob) commit(fetched *provider.Turn, token provider.UUID, r *rand.Rand) provider.CommitTurnRequest {
	c := turn(&fetched.Instance)
	for i := range fetched.Messages {
		c.Consumed = append(c.Consumed, fetched.Messages[i].ID)
	}
	c.Lease, c.Events = token, [][]byte{[]byte("e"), []byte("e"), []byte("e")}
	for range r.IntN(4) {
		c.Sends = append(c.Sends, provider.OutMessage{Key: m.some(r), Message: text("from another")})
	}
	for _, n := range r.Perm(8)[:r.IntN(4)] {
		start := createRequest(fmt.Sprint("child", n))
		start.Policy = provider.IDReplaceEnded
		start.Parent = provider.Parent{Key: c.Key, ID: fetched.Instance.ID, Execution: c.Execution, EventID: c.Length + 1}
		c.Starts = append(c.Starts, provider.Start{Create: start, Refused: text("refused")})
		m.remember(start.Key)
	}
	for i := range r.IntN(3) {
		task := provider.NewTask{EventID: c.Length + int64(i) + 1, Queue: "q", Name: "act"}
		if r.IntN(2) == 0 { // of one of few sessions, some of which end soon
			task.Session, task.Deadline = fmt.Sprint("session", r.IntN(5)), time.Duration(20+r.IntN(200))*time.Millisecond
		}
		if r.IntN(3) == 0 {
			task.Lease = &provider.TaskLease{Token: unique(), Owner: owner(r), Duration: 100 * time.Millisecond}
		}
		c.Tasks = append(c.Tasks, task)
	}
	if r.IntN(3) == 0 {
		due := fetched.Instance.UpdatedAt.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
		c.Timers = append(c.Timers, provider.Timer{EventID: c.Length + 20, Due: due})
	}
	if r.IntN(4) == 0 {
		c.Status, c.CloseInbox = provider.StatusCompleted, "over"
		c.Tasks, c.Timers = nil, nil
	}
	return c
}

// owner returns one that holds sessions.
func owner(r *rand.Rand) string { return fmt.Sprint("owner", r.IntN(3)) }

// work fetches tasks and remembers them for reports and renewals by anyone.
func (m *mob) work(ctx context.Context, p *Provider, r *rand.Rand) {
	req := tasksRequest()
	req.Max, req.Lease, req.Expired = 1+r.IntN(5), 100*time.Millisecond, true
	req.Owner, req.Sessions = owner(r), provider.SessionClaim{Max: 3, Lease: 100 * time.Millisecond, Idle: 50 * time.Millisecond}
	res, err := p.FetchTasks(ctx, req)
	m.answered("fetch tasks", err)
	var report provider.ReportTasksRequest
	for i := range res.Tasks {
		task := &res.Tasks[i]
		if r.IntN(3) == 0 {
			m.mu.Lock()
			m.tasks, m.token = append(m.tasks, *task), append(m.token, provider.TaskToken(req.Token, task.TaskRef))
			m.mu.Unlock()
			continue
		}
		report.Items = append(report.Items, provider.TaskReport{
			TaskRef: task.TaskRef, Token: provider.TaskToken(req.Token, task.TaskRef), Attempt: task.Attempt, Message: text("result"), Reason: "poison",
			Outcome: []provider.TaskOutcome{provider.TaskComplete, provider.TaskRetry, provider.TaskRelease, provider.TaskPoison, provider.TaskDiscard}[r.IntN(5)],
		})
	}
	if len(report.Items) > 0 {
		_, err = p.ReportTasks(ctx, report)
		m.answered("report", err)
	}
}

// renew renews tasks of several instances, in any order.
func (m *mob) renew(ctx context.Context, p *Provider, r *rand.Rand) {
	m.mu.Lock()
	req := provider.RenewTasksRequest{Lease: 200 * time.Millisecond}
	seen := make(map[provider.TaskRef]bool)
	for range min(len(m.tasks), 6) {
		i := r.IntN(len(m.tasks))
		if ref := m.tasks[i].TaskRef; !seen[ref] {
			seen[ref] = true
			req.Items = append(req.Items, provider.TaskRenewal{TaskRef: ref, Token: m.token[i], Details: []byte("d")})
		}
	}
	m.mu.Unlock()
	if len(req.Items) > 0 {
		_, err := p.RenewTasks(ctx, req)
		m.answered("renew", err)
	}
}

func (m *mob) steer(ctx context.Context, p *Provider, r *rand.Rand) {
	notice := text("notice")
	req := provider.SteerRequest{Key: m.some(r), Commit: unique()}
	switch r.IntN(4) {
	case 0:
		req.Action, req.Event, req.ParentNotice, req.ChildNotice = provider.SteerTerminate, []byte("end"), &notice, &notice
	case 1:
		req.Action = provider.SteerSuspend
	case 2:
		req.Action = provider.SteerResume
	default:
		req.Action, req.Events = provider.SteerReset, [][]byte{[]byte("again")}
	}
	_, err := p.Steer(ctx, req)
	m.answered(fmt.Sprint("steer ", req.Action), err)
}

// deadLetters redrives some dead letters and discards the others.
func (m *mob) deadLetters(ctx context.Context, p *Provider) {
	res, err := p.DeadLetters(ctx, provider.DeadLettersRequest{Max: 6})
	m.answered("letters", err)
	for i := range res.Letters {
		req := provider.DeadLettersRequest{Action: provider.DeadLettersRedrive, IDs: []int64{res.Letters[i].ID}}
		if i > 0 {
			req.Action = provider.DeadLettersDiscard
			req.IDs = nil
			for _, l := range res.Letters[i:] {
				req.IDs = append(req.IDs, l.ID)
			}
		}
		_, err := p.DeadLetters(ctx, req)
		m.answered("letters", err)
		if i > 0 {
			return
		}
	}
}
