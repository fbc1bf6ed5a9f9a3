package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

const (
	// incidentTime bounds all reads of an incident, incidentProbe the first one, and incidentPart those of a part.
	incidentTime  = 5 * time.Second
	incidentProbe = 2 * time.Second
	incidentPart  = 2 * time.Second
	// incidentSlow is the latency from which a store gets one read at a time, and fewer. Else it gets incidentReads.
	incidentSlow  = 250 * time.Millisecond
	incidentReads = 4

	incidentMarks = 20 // changes
	incidentRows  = 10 // of each part
	incidentWaits = 5  // instances that wait for people, with their texts
	incidentCount = 1_000
	incidentBlock = 100   // blocked instances that are looked at
	incidentHours = 6     // points of the figures of a day in an hour
	incidentTenth = 0.100 // a difference that is steady
)

// incidentReader reads the parts of an incident. Each part has its own fields.
type incidentReader struct {
	o   *Operator
	in  *Incident
	now time.Time
	// places holds a token for each read at a time. A part has one.
	places chan struct{}

	mu      sync.Mutex
	unknown map[string]error

	served []NodeInfo // that run, for what serves an activity
}

// incidentParts are the parts in the order of Incident. Those that read records and what waits come first.
//
//nolint:gochecknoglobals // constant table
var incidentParts = []struct {
	name string
	also string // a second part that the read sets; "": none
	read func(*incidentReader, context.Context) error
}{
	{"trend", "changed", (*incidentReader).figures},
	{"nodes", "", (*incidentReader).nodes},
	{"queues", "", (*incidentReader).queues},
	{"retrying", "", (*incidentReader).retrying},
	{"blocked", "", (*incidentReader).blocked},
	{"people", "", (*incidentReader).people},
	{"noNode", "", (*incidentReader).noNode},
	{"failing", "", (*incidentReader).failing},
}

// Incident returns what somebody on call needs to know first: what changed, what fails, retries, is blocked and waits, whether it grows, how the store
// is, and which act would stop it. It changes nothing.
//
// The parts are read at once, within five seconds, by bounded reads: it takes as long among a million instances as among a thousand. A store that
// does not answer the first, small read is asked nothing else, and a slow one gets one read at a time. A part that cannot be read is nil, and
// Incident.Unknown says why. So there is no error for a store that is ill: errors are client.ErrInvalid, an error that wraps errors.ErrUnsupported of a
// store that lists no instances, or the error of a ctx that was cancelled.
func (o *Operator) Incident(ctx context.Context) (*Incident, error) {
	const op = "looking at an incident"
	if err := o.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	bounded, cancel := context.WithTimeout(ctx, incidentTime)
	defer cancel()
	r := &incidentReader{o: o, in: &Incident{Acts: []IncidentAct{}}, unknown: map[string]error{}}
	err := r.probe(bounded)
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(ctx.Err(), context.Canceled):
		return nil, fmt.Errorf("%s: %w", op, err)
	case err != nil:
		r.in.Store.Error = err.Error()
	default:
		r.readAll(bounded)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, fmt.Errorf("%s: %w", op, context.Cause(ctx))
		}
		r.suggest()
	}
	r.explain()
	return r.in, nil
}

// probe asks for the time, which is the smallest read, and measures it.
func (r *incidentReader) probe(ctx context.Context) error {
	within := incidentProbe
	if until, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(until)/2) // the parts need time, too
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began := time.Now()
	now, err := r.o.client.Now(ctx)
	if err != nil {
		return err
	}
	took := max(time.Since(began), 1)
	r.now, r.in.AsOf = now, now
	r.in.Store = IncidentStore{Reachable: true, Latency: took, Slow: took > incidentSlow}
	return nil
}

// readAll reads all parts, some at a time.
func (r *incidentReader) readAll(ctx context.Context) {
	most := incidentReads
	if r.in.Store.Slow {
		most = 1
	}
	within := incidentPart
	if until, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(until)*2/5) // a part that fails is read again until then, and others wait for its place
	}
	r.places = make(chan struct{}, most)
	var all sync.WaitGroup
	for i := range incidentParts {
		part := &incidentParts[i]
		r.places <- struct{}{} // a read ends with ctx at the latest
		all.Go(func() {
			defer func() { <-r.places }()
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			if err := part.read(r, ctx); err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.unknown[part.name] = err
			}
		})
	}
	all.Wait()
}

// explain lists what is not known.
func (r *incidentReader) explain() {
	add := func(part string, why IncidentWhy, text string) {
		if part != "" {
			r.in.Unknown = append(r.in.Unknown, IncidentUnknown{part, why, text})
		}
	}
	for i := range incidentParts {
		part := &incidentParts[i]
		err := r.unknown[part.name]
		switch {
		case !r.in.Store.Reachable:
			add(part.name, IncidentNotAsked, "")
			add(part.also, IncidentNotAsked, "")
		case err != nil:
			add(part.name, incidentWhy(err), err.Error())
			add(part.also, incidentWhy(err), err.Error())
		}
	}
}

func incidentWhy(err error) IncidentWhy {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return IncidentUnsupported
	case errors.Is(err, client.ErrForbidden):
		return IncidentForbidden
	case errors.Is(err, context.DeadlineExceeded):
		return IncidentTimeout
	default:
		return IncidentFailed
	}
}

// figures reads what changed, and the last two hours.
func (r *incidentReader) figures(ctx context.Context) error {
	f, err := r.o.client.Figures(ctx, client.FiguresRequest{Window: client.FiguresDay})
	if err != nil {
		return err
	}
	changed := &IncidentChanges{Since: f.From, Items: []client.FiguresMark{}}
	for i := len(f.Marks) - 1; i >= 0 && len(changed.Items) < incidentMarks; i-- {
		changed.Items = append(changed.Items, f.Marks[i])
	}
	changed.More = len(f.Marks) - len(changed.Items)
	r.in.Changed, r.in.Trend = changed, incidentTrend(f)
	return nil
}

// incidentTrend compares the last hour of the figures of a day with the one before.
func incidentTrend(f *client.Figures) *IncidentTrend {
	middle := max(0, len(f.Points)-incidentHours)
	last, before := f.Points[middle:], f.Points[max(0, middle-incidentHours):middle]
	t := &IncidentTrend{From: f.Until, Until: f.Until}
	if len(last) > 0 {
		t.From = last[0].At
	}
	rate := func(of func(*client.FiguresCounts) int64) IncidentRate {
		now, long := figuresOf(last, of)
		then, longThen := figuresOf(before, of)
		return IncidentRate{now, then, growth(now, then, long, longThen)}
	}
	t.Started = rate(func(c *client.FiguresCounts) int64 { return c.Started })
	t.Completed = rate(func(c *client.FiguresCounts) int64 { return c.Completed })
	t.Failed = rate(func(c *client.FiguresCounts) int64 { return c.Failed })
	t.Retried = rate(func(c *client.FiguresCounts) int64 { return c.Retried })
	return t
}

// figuresOf adds up points, and returns how long they are. It returns nil if nothing is known.
func figuresOf(points []client.FiguresPoint, of func(*client.FiguresCounts) int64) (n *client.Counted, long time.Duration) {
	sum, known := client.Counted{Exact: true}, false
	for i := range points {
		p := &points[i]
		long += p.Until.Sub(p.At)
		sum.Exact = sum.Exact && p.Known == client.FiguresAll
		if p.Counts != nil {
			sum.Count += of(p.Counts)
			known = true
		}
	}
	if !known || sum.Count == 0 && !sum.Exact { // "zero or more" says nothing
		return nil, long
	}
	return &sum, long
}

// growth compares two counts of times that are so long. Counts that are lower bounds say only what holds for all higher ones, too.
func growth(last, before *client.Counted, long, longBefore time.Duration) IncidentGrowth {
	if last == nil || before == nil || long <= 0 || longBefore <= 0 {
		return IncidentGrowthUnknown
	}
	now, then := float64(last.Count)/float64(long), float64(before.Count)/float64(longBefore)
	switch {
	case now > then*(1+incidentTenth) && before.Exact:
		return IncidentGrowing
	case now < then*(1-incidentTenth) && last.Exact:
		return IncidentFalling
	case last.Exact && before.Exact:
		return IncidentSteady
	default:
		return IncidentGrowthUnknown
	}
}

func (r *incidentReader) nodes(ctx context.Context) error {
	nodes, err := r.o.Nodes(ctx)
	if err != nil {
		return err
	}
	n := &IncidentNodes{}
	for i := range nodes {
		switch one := &nodes[i]; one.State {
		case NodeLost:
			n.Lost = append(n.Lost, one.Owner)
		case NodeDraining, NodeDrained:
			n.Draining = append(n.Draining, one.Owner)
			r.served = append(r.served, *one)
		default:
			n.Running++
			r.served = append(r.served, *one)
		}
	}
	r.in.Nodes = n
	return nil
}

func (r *incidentReader) queues(ctx context.Context) error {
	all, err := r.o.Queues(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(q QueueInfo) bool { return q.Paused == nil && q.Waiting == 0 })
	slices.SortStableFunc(all, func(a, b QueueInfo) int {
		if (a.Paused != nil) != (b.Paused != nil) {
			return map[bool]int{true: -1, false: 1}[a.Paused != nil]
		}
		if a.Oldest.IsZero() != b.Oldest.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.Oldest.IsZero()]
		}
		return a.Oldest.Compare(b.Oldest)
	})
	q := &IncidentQueues{}
	q.Items, q.More = firstOf(all)
	r.in.Queues = q
	return nil
}

// firstOf cuts a list, and returns how many more there are.
func firstOf[T any](all []T) (first []T, more int) {
	n := min(len(all), incidentRows)
	return append([]T{}, all[:n]...), len(all) - n
}

func (r *incidentReader) retrying(ctx context.Context) error {
	list, err := r.o.client.Activities(ctx, client.ActivitiesQuery{Retrying: true}, client.Page{Size: provider.MaxPage})
	if err != nil {
		return err
	}
	n, err := r.o.client.CountUpTo(ctx, client.Filter{Retrying: true}, incidentCount)
	if err != nil {
		return err
	}
	var all []IncidentRetry
	at := map[[2]string]int{}
	for i := range list.Items {
		a := &list.Items[i]
		key := [2]string{a.Queue, a.Name}
		if _, known := at[key]; !known {
			at[key] = len(all)
			all = append(all, IncidentRetry{Activity: a.Name, Queue: a.Queue, Since: a.Since, Failure: a.Failure})
		}
		one := &all[at[key]]
		one.Count++
		one.Attempt = max(one.Attempt, a.Attempt)
		if a.Since.Before(one.Since) {
			one.Since, one.Failure = a.Since, a.Failure
		}
		if a.State == client.ActivityQueued && (one.Next.IsZero() || a.NotBefore.Before(one.Next)) {
			one.Next = a.NotBefore
		}
	}
	slices.SortStableFunc(all, func(a, b IncidentRetry) int { return cmp.Compare(b.Count, a.Count) })
	out := &IncidentRetries{Instances: n, Looked: len(list.Items), AtLeast: list.Cursor != ""}
	out.Items, out.More = firstOf(all)
	r.in.Retrying = out
	return nil
}

func (r *incidentReader) blocked(ctx context.Context) error {
	f := client.Filter{Blocked: true}
	list, err := r.o.client.List(ctx, f, client.Page{Size: incidentBlock, Omit: []client.Column{client.ColumnAttributes, client.ColumnCustomStatus}})
	if err != nil {
		return err
	}
	n, err := r.o.client.CountUpTo(ctx, f, incidentCount)
	if err != nil {
		return err
	}
	var all []IncidentBlock
	at := map[[3]string]int{}
	for i := range list.Items {
		d := &list.Items[i]
		if d.Blocked == nil {
			continue
		}
		key := [3]string{d.Blocked.Reason, d.Orchestration, d.CodeVersion}
		if _, known := at[key]; !known {
			at[key] = len(all)
			all = append(all, IncidentBlock{
				Reason: d.Blocked.Reason, Orchestration: d.Orchestration, CodeVersion: d.CodeVersion, Since: d.Blocked.Since, ID: d.ID, Key: d.Key,
				Blocked: d.Blocked,
			})
		}
		one := &all[at[key]]
		one.Count++
		if d.Status == client.StatusRunning {
			one.running++
		}
		if d.Blocked.Since.Before(one.Since) {
			one.Since = d.Blocked.Since
		}
	}
	slices.SortStableFunc(all, func(a, b IncidentBlock) int { return cmp.Compare(b.Count, a.Count) })
	out := &IncidentBlocks{Instances: n, Looked: len(list.Items), AtLeast: list.Cursor != ""}
	out.Items, out.More = firstOf(all)
	r.in.Blocked = out
	return nil
}

func (r *incidentReader) noNode(ctx context.Context) error {
	all, err := r.o.Versions(ctx, "")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(v VersionUse) bool { return !v.NoNode() })
	slices.SortStableFunc(all, func(a, b VersionUse) int { return cmp.Compare(b.Running, a.Running) })
	out := &IncidentNoNode{}
	out.Items, out.More = firstOf(all)
	r.in.NoNode = out
	return nil
}

// people reads what waits for people. Since when each waits stands in its row, so only the texts of the oldest are read.
func (r *incidentReader) people(ctx context.Context) error {
	f := client.Filter{Waiting: true}
	stored, users, err := r.o.caller.Filter(&f)
	if err != nil {
		return err
	}
	const op = "listing what waits for people"
	list, err := r.o.caller.Store.Page(ctx, op, provider.ListRequest{
		Filter: stored, Max: provider.MaxPage, Omit: []provider.ListField{provider.ListCustomStatus, provider.ListBlockedMessage},
	}, users)
	if err != nil {
		return access.Explain(op, 0, err)
	}
	out := &IncidentPeople{Items: []IncidentWait{}, Instances: client.Counted{Count: int64(len(list.Instances)), Exact: list.Cursor == ""}}
	for i := range list.Instances {
		in := &list.Instances[i]
		at := slices.IndexFunc(in.Attributes, func(a provider.Attribute) bool { return a.Name == replay.AttributeWaiting })
		if at >= 0 {
			out.Items = append(out.Items, IncidentWait{
				ID: in.ID, Key: in.Key, Orchestration: in.Name, Since: provider.Time(in.Attributes[at].Number).Std(), created: in.CreatedAt.Std(),
			})
		}
	}
	slices.SortStableFunc(out.Items, func(a, b IncidentWait) int { return a.Since.Compare(b.Since) })
	out.Items = out.Items[:min(len(out.Items), incidentWaits)]
	for i := range out.Items {
		w := &out.Items[i]
		one := client.Filter{IDPrefix: w.ID, Waiting: true, CreatedAfter: w.created, CreatedBefore: w.created.Add(time.Microsecond)}
		found, err := r.o.client.List(ctx, one, client.Page{Size: incidentWaits})
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(found.Items, func(d client.Description) bool { return d.Key == w.Key }); at >= 0 {
			w.Waiting = found.Items[at].Waiting
		}
	}
	if len(out.Items) > 0 {
		out.Oldest = out.Items[0].Since
	}
	r.in.People = out
	return nil
}

// failing reads groups, at once if there are places: of all that failed, and, unless the store is slow, of the last hour and the last two.
func (r *incidentReader) failing(ctx context.Context) error {
	read := func(ctx context.Context, after time.Time) (client.FailureGroups, error) {
		return r.o.client.FailureGroups(ctx, client.FailureGroupsQuery{EndedAfter: after, Max: provider.MaxPage})
	}
	var all client.FailureGroups
	var hour, two *client.FailureGroups
	reads, ctx := errgroup.WithContext(ctx)
	reads.Go(func() (err error) {
		all, err = read(ctx, time.Time{})
		return err
	})
	if !r.in.Store.Slow {
		hour, two = new(client.FailureGroups), new(client.FailureGroups)
		for ago, groups := range map[time.Duration]*client.FailureGroups{time.Hour: hour, 2 * time.Hour: two} {
			reads.Go(func() (err error) { // this part is the last one that waits for a place
				select {
				case r.places <- struct{}{}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				defer func() { <-r.places }()
				*groups, err = read(ctx, r.now.Add(-ago))
				return err
			})
		}
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	r.in.Failing = incidentFailures(&all, hour, two, r.now)
	return nil
}

// incidentFailures compares the groups of the last hour with those of the hour before. hour and two are nil if they are not known.
func incidentFailures(all, hour, two *client.FailureGroups, now time.Time) *IncidentFailures {
	var recent []IncidentGroup
	for i := range all.Items {
		g := &all.Items[i]
		if g.Last.Before(now.Add(-24 * time.Hour)) {
			continue
		}
		one := IncidentGroup{FailureGroup: *g}
		last, before := groupHours(g.Group, hour, two)
		one.Recent = IncidentRate{last, before, growth(last, before, time.Hour, time.Hour)}
		recent = append(recent, one)
	}
	slices.SortStableFunc(recent, func(a, b IncidentGroup) int { return cmp.Compare(b.lastHour(), a.lastHour()) })
	out := &IncidentFailures{AtLeast: all.AtLeast}
	out.Items, out.More = firstOf(recent)
	return out
}

// lastHour returns how many instances of the group failed in the last hour, as far as is known.
func (g *IncidentGroup) lastHour() int64 {
	if g.Recent.Last == nil {
		return 0
	}
	return g.Recent.Last.Count
}

// groupHours returns how many instances of a group failed in the last hour, and in the hour before.
func groupHours(group string, hour, two *client.FailureGroups) (last, before *client.Counted) {
	if hour == nil || two == nil {
		return nil, nil
	}
	last, sum := groupIn(group, hour), groupIn(group, two)
	if last == nil || sum == nil || !last.Exact {
		return last, nil
	}
	return last, &client.Counted{Count: max(0, sum.Count-last.Count), Exact: sum.Exact}
}

// groupIn returns the size of a group; nil: it is not among those that were looked at.
func groupIn(group string, in *client.FailureGroups) *client.Counted {
	at := slices.IndexFunc(in.Items, func(g client.FailureGroup) bool { return g.Group == group })
	switch {
	case at >= 0:
		return &client.Counted{Count: in.Items[at].Count, Exact: !in.AtLeast}
	case in.AtLeast || len(in.Items) >= provider.MaxPage:
		return nil
	default:
		return &client.Counted{Exact: true}
	}
}
