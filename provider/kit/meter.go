package kit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Meter implements [provider.Meter] by scans. Each call reads all instances and tasks, so it fits a store of some 10,000 instances
// whose figures are read every few seconds. It is safe for concurrent use if its functions are.
type Meter struct {
	Instances Scan[InstanceRow]
	Tasks     Scan[TaskRow]
	Letters   Scan[provider.UUID]  // the key of each dead letter
	Now       func() provider.Time // the store's clock
}

// Stats implements provider.Meter. It counts no replaced instances.
func (m Meter) Stats(ctx context.Context, req provider.StatsRequest) (res provider.StatsResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	f := figures{
		now: m.Now(), running: counts[provider.Capability]{}, turns: counts[turnKind]{}, tasks: counts[taskKind]{}, held: map[provider.UUID]bool{},
	}
	res.Now, res.Instances = f.now, map[provider.Status]int64{}
	if err := m.Instances(ctx, func(i InstanceRow) bool { f.instance(&res, &i); return true }); err != nil {
		return provider.StatsResult{}, err
	}
	if !req.Running || req.Waiting {
		if err := m.Tasks(ctx, func(t TaskRow) bool { f.task(&res, &t); return true }); err != nil {
			return provider.StatsResult{}, err
		}
	}
	if !req.Running && !req.Waiting {
		if err := m.Letters(ctx, func(provider.UUID) bool { res.DeadLetters++; return true }); err != nil {
			return provider.StatsResult{}, err
		}
	}
	f.list(&res, req.Most)
	return res, nil
}

type (
	turnKind struct {
		provider.Capability

		level int64
	}
	taskKind struct{ queue, name string }
)

// counts has a figure for each kind of work.
type counts[Kind comparable] map[Kind]figure

type figure struct {
	count, inSession int64
	oldest           provider.Time
}

func (c counts[Kind]) add(kind Kind, since provider.Time, session string) {
	f := c[kind]
	if f.count == 0 || since < f.oldest {
		f.oldest = since
	}
	if f.count++; session != "" {
		f.inSession++
	}
	c[kind] = f
}

// figures gathers what one call of Stats returns.
type figures struct {
	now     provider.Time
	running counts[provider.Capability]
	turns   counts[turnKind]
	tasks   counts[taskKind]
	held    map[provider.UUID]bool // instances whose tasks cannot be fetched
}

func (f *figures) instance(res *provider.StatsResult, i *InstanceRow) {
	if i.Status == provider.StatusSuspended || i.Deleting {
		f.held[i.Key] = true
	}
	if i.Replaced {
		return
	}
	kind := provider.Capability{Name: i.Name, CodeVersion: i.CodeVersion}
	res.Instances[i.Status]++
	if !i.Status.Ended() {
		f.running.add(kind, i.CreatedAt, "")
	}
	if i.Blocked != nil {
		res.Blocked++
	}
	switch {
	case i.Lease.Until > f.now:
		res.TurnLeases++
	case f.fetchable(i):
		f.turns.add(turnKind{kind, i.EngineLevel}, i.ReadyAt, "")
	}
}

// fetchable reports whether some owner could fetch an instance that nobody has leased.
func (f *figures) fetchable(i *InstanceRow) bool {
	free := i.Blocked == nil || i.Blocked.RetryAt != 0 && i.Blocked.RetryAt <= f.now
	return free && i.Status == provider.StatusRunning && !i.Deleting && i.ReadyAt != 0 && i.ReadyAt <= f.now && i.NotBefore <= f.now
}

func (f *figures) task(res *provider.StatsResult, t *TaskRow) {
	switch {
	case t.State == provider.TaskLeased && t.Lease.Until > f.now:
		res.TaskLeases++
	case t.State == provider.TaskParked, f.held[t.Key], t.NotBefore > f.now, t.TimeUp != 0 && t.TimeUp <= f.now:
	default:
		f.tasks.add(taskKind{t.Queue, t.Name}, t.NotBefore, t.Session)
	}
}

// list puts the figures of all kinds into the result, in order.
func (f *figures) list(res *provider.StatsResult, most int64) {
	byName := func(a, b provider.Capability) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.CodeVersion, b.CodeVersion))
	}
	for _, kind := range slices.SortedFunc(maps.Keys(f.running), byName) {
		r := provider.RunningInstances{Capability: kind, Count: f.running[kind].count, Oldest: f.running[kind].oldest}
		r.Limit(most)
		res.Running = append(res.Running, r)
	}
	for _, kind := range slices.SortedFunc(maps.Keys(f.turns), func(a, b turnKind) int {
		return cmp.Or(byName(a.Capability, b.Capability), cmp.Compare(a.level, b.level))
	}) {
		res.Turns = append(res.Turns, provider.WaitingTurns{
			Capability: kind.Capability, EngineLevel: kind.level, Count: f.turns[kind].count, Oldest: f.turns[kind].oldest,
		})
	}
	for _, kind := range slices.SortedFunc(maps.Keys(f.tasks), func(a, b taskKind) int {
		return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.name, b.name))
	}) {
		n := f.tasks[kind]
		res.Tasks = append(res.Tasks, provider.WaitingTasks{Queue: kind.queue, Name: kind.name, Count: n.count, Oldest: n.oldest, InSession: n.inSession})
	}
}
