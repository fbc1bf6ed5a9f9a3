package kit_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
	"github.com/perdure/perdure/provider/validations/model"
)

// A store is memory whose clock, questions and whatever scans can answer are those of the kit.
type store struct {
	provider.Provider
	provider.Redriver
	provider.Keeper
	*kit.Questions
	kit.Lister
	kit.FailureGrouper
	kit.Meter
	kit.Inspector
	kit.Pruner
	kit.Trimmer

	memory *memory.Provider
	clock  *kit.Clock
	hub    *kit.Hub

	mu     sync.Mutex
	delays map[provider.UUID]delay
	ends   map[provider.OldExecution]provider.Time
}

// delay is what memory shows nobody: an instance is held back until then, as long as it has this version.
type delay struct {
	version provider.UUID
	until   provider.Time
}

// source is the clock of the kit as memory wants it.
type source struct{ *kit.Clock }

func (s source) Now() time.Time { return s.Clock.Now().Std() }

func (s source) Timer(d time.Duration) (fired <-chan time.Time, stop func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

func open() *store {
	clock := kit.NewClock(0)
	p := memory.New(memory.Options{Clock: source{clock}})
	s := &store{
		Provider: p, Redriver: p, Keeper: p, memory: p, clock: clock, hub: kit.NewHub(time.Millisecond),
		delays: map[provider.UUID]delay{}, ends: map[provider.OldExecution]provider.Time{},
	}
	now := clock.Now
	s.Questions = kit.NewQuestions(s.hub, now, func(ctx context.Context, id string, key provider.UUID) (kit.Asked, error) {
		res, err := p.Get(ctx, provider.GetRequest{ID: id, Key: key})
		return kit.Asked{Instance: res.Instance}, err
	})
	s.Lister = kit.Lister{Instances: s.instances, Now: now}
	s.FailureGrouper = kit.FailureGrouper{Instances: s.instances, Now: now}
	s.Meter = kit.Meter{Instances: s.instances, Tasks: s.tasks, Letters: s.letters, Now: now}
	s.Inspector = kit.Inspector{
		Instances: s.instances, Executions: s.executions, Tasks: s.tasks, Asks: s.Keys, Letters: s.letters, Now: now,
		History:  scan(p, provider.InspectHistory, func(res *provider.InspectResult) []provider.HistoryRow { return res.History }),
		Messages: scan(p, provider.InspectMessages, func(res *provider.InspectResult) []provider.MessageRow { return res.Messages }),
		Values:   scan(p, provider.InspectValues, keys),
	}
	s.Pruner = kit.Pruner{Instances: s.instances, Remove: s.removeTree, Now: now}
	s.Trimmer = kit.Trimmer{Instances: s.instances, Executions: s.executions, Remove: s.removeExecution, Now: now}
	return s
}

func keys(res *provider.InspectResult) []provider.UUID { return res.Keys }

// scan returns a scan of memory's rows of a kind, in the order in which they do not come.
func scan[Row any](p *memory.Provider, kind provider.InspectKind, rows func(*provider.InspectResult) []Row) kit.Scan[Row] {
	return func(ctx context.Context, each func(Row) bool) error {
		req, all := provider.InspectRequest{Kind: kind}, []Row(nil)
		for more := true; more; more = req.Cursor != "" {
			page, err := p.Inspect(ctx, req)
			if err != nil {
				return err
			}
			all, req.Cursor = append(all, rows(&page)...), page.Cursor
		}
		for _, row := range slices.Backward(all) {
			if !each(row) {
				break
			}
		}
		return nil
	}
}

func (s *store) instances(ctx context.Context, each func(kit.InstanceRow) bool) error {
	leases := map[provider.UUID]provider.LeaseRow{}
	leased := scan(s.memory, provider.InspectTurnLeases, func(res *provider.InspectResult) []provider.TurnLeaseRow { return res.TurnLeases })
	err := leased(ctx, func(l provider.TurnLeaseRow) bool {
		l.Lease.Over = false // the kit finds out
		leases[l.Key] = l.Lease
		return true
	})
	if err != nil {
		return err
	}
	var failed error
	err = scan(s.memory, provider.InspectInstances, func(res *provider.InspectResult) []provider.Instance { return res.Instances })(
		ctx, func(i provider.Instance) bool {
			whole, err := s.memory.Get(ctx, provider.GetRequest{Key: i.Key}) // with its attributes
			if errors.Is(err, provider.ErrNotFound) {
				return true
			}
			if failed = err; err != nil {
				return false
			}
			current, err := s.memory.Get(ctx, provider.GetRequest{ID: i.ID})
			return each(kit.InstanceRow{
				Instance: whole.Instance, Replaced: err != nil || current.Instance.Key != i.Key, Lease: leases[i.Key], NotBefore: s.delayOf(&whole.Instance),
			})
		})
	return cmp.Or(err, failed)
}

func (s *store) tasks(ctx context.Context, each func(kit.TaskRow) bool) error {
	return scan(s.memory, provider.InspectTasks, func(res *provider.InspectResult) []provider.TaskRow { return res.Tasks })(
		ctx, func(t provider.TaskRow) bool {
			t.Lease.Over = false // the kit finds out
			row := kit.TaskRow{TaskRow: t}
			res, _ := s.memory.Get(ctx, provider.GetRequest{Key: t.Key, WithTasks: true})
			for _, info := range res.Tasks {
				if info.TaskRef != t.TaskRef {
					continue
				}
				row.Queue, row.Name, row.Session, row.NotBefore, row.TimeUp = info.Queue, info.Name, info.Session, info.NotBefore, info.Deadline
				begun := info.Deliveries > 0 || info.Attempt > 1
				if !begun && info.StartBy != 0 && (row.TimeUp == 0 || info.StartBy < row.TimeUp) {
					row.TimeUp = info.StartBy
				}
			}
			return each(row)
		})
}

// executions counts the age of an execution from the first look, as a store may whose older release has not noted it.
func (s *store) executions(ctx context.Context, each func(kit.ExecutionRow) bool) error {
	return scan(s.memory, provider.InspectExecutions, func(res *provider.InspectResult) []provider.ExecutionRow { return res.Executions })(
		ctx, func(x provider.ExecutionRow) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			at := provider.OldExecution{Key: x.Key, Execution: x.Execution}
			s.ends[at] = cmp.Or(s.ends[at], s.clock.Now())
			return each(kit.ExecutionRow{ExecutionRow: x, EndedAt: s.ends[at]})
		})
}

func (s *store) letters(ctx context.Context, each func(provider.UUID) bool) error {
	req := provider.DeadLettersRequest{Action: provider.DeadLettersList}
	for {
		page, err := s.memory.DeadLetters(ctx, req)
		if err != nil || len(page.Letters) == 0 {
			return err
		}
		for _, l := range page.Letters {
			if req.Cursor = l.ID; !each(l.Key) {
				return nil
			}
		}
	}
}

func (s *store) delayOf(i *provider.Instance) provider.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.delays[i.Key]; d.version == i.Version {
		return d.until
	}
	return 0
}

func (s *store) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	res, err := s.memory.ReleaseTurns(ctx, req)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, released := range res.Errs {
		item := &req.Items[n]
		if got, _ := s.memory.Get(ctx, provider.GetRequest{Key: item.Key}); released == nil && item.Kind == provider.ReleaseClean {
			s.delays[item.Key] = delay{got.Instance.Version, s.clock.Now().Add(item.Delay)}
		}
	}
	return res, err
}

func (s *store) removeTree(ctx context.Context, key, version provider.UUID) (int64, error) {
	i, err := s.memory.Get(ctx, provider.GetRequest{Key: key})
	if err == nil && i.Instance.Version != version {
		err = provider.ErrConflict
	}
	if err != nil {
		return 0, err
	}
	res, err := s.Delete(ctx, provider.DeleteRequest{Key: key})
	return res.Instances, err
}

// removeExecution lets memory trim the oldest execution of an instance. The cursor of memory is the
// execution behind which it continues.
func (s *store) removeExecution(ctx context.Context, x provider.OldExecution) (bool, error) {
	i, err := s.memory.Get(ctx, provider.GetRequest{Key: x.Key})
	if err != nil {
		return false, err
	}
	keep := int(i.Instance.Execution - 1 - x.Execution)
	res, err := s.memory.Trim(ctx, provider.TrimRequest{Keep: keep, Max: 1, Cursor: fmt.Sprintf("%s/%d", x.Key, x.Execution-1)})
	return res.Executions > 0, err
}

func (s *store) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	defer s.hub.Changed()
	return s.memory.Delete(ctx, req)
}

func (s *store) Close() error {
	s.hub.Close()
	return s.Provider.Close()
}

// The suite passes a store whose clock, questions, lists, figures, rows, prunes and trims are those of the kit.
func TestConformance(t *testing.T) {
	longtest.Skip(t)
	validations.Run(t, func(t *testing.T) provider.Provider {
		t.Helper()
		s := open()
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

// Random calls end alike on such a store and on memory.
func TestModel(t *testing.T) {
	t.Parallel()
	model.Run(t, func(tb testing.TB) provider.Provider {
		tb.Helper()
		s := open()
		tb.Cleanup(func() { _ = s.Close() })
		return s
	})
}
