package kit

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Inspector implements [provider.Inspector] by scans. Each page reads all rows of its kind, so it fits a store of some 10,000
// instances with short histories. It keeps the rows of a few pages in memory. It is safe for concurrent use if its functions are.
//
// A row that cannot be read fails the call, as there are no Faults.
type Inspector struct {
	Instances  Scan[InstanceRow]
	Executions Scan[ExecutionRow]
	History    Scan[provider.HistoryRow]
	Messages   Scan[provider.MessageRow] // Payload is not read
	Tasks      Scan[TaskRow]
	Asks       Scan[provider.UUID] // the key of each question, such as Questions.Keys
	Values     Scan[provider.UUID] // the key of each key-value
	Letters    Scan[provider.UUID] // the key of each dead letter
	Attributes Scan[provider.UUID] // the key of each attribute, if they are rows of their own; nil: those of Instances
	Outcomes   Scan[provider.UUID] // the key of each outcome, if they are rows of their own; nil: those of Instances
	Now        func() provider.Time
}

// Inspect implements provider.Inspector.
func (in Inspector) Inspect(ctx context.Context, req provider.InspectRequest) (res provider.InspectResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	p := pager{req: &req}
	if p.after, p.continues, err = readCursor("inspect", req.Cursor); err != nil {
		return res, err
	}
	switch req.Kind {
	case provider.InspectInstances:
		err = in.instances(ctx, &p, &res)
	case provider.InspectExecutions:
		err = onPage(ctx, &p, in.Executions, func(x ExecutionRow) place { return place{x.Key, x.Execution, 0} }, func(x *ExecutionRow) {
			res.Executions = append(res.Executions, x.ExecutionRow)
		})
	case provider.InspectHistory:
		err = onPage(ctx, &p, in.History, func(h provider.HistoryRow) place { return place{h.Key, h.Execution, h.First} }, func(h *provider.HistoryRow) {
			res.History = append(res.History, *h)
		})
	case provider.InspectMessages:
		err = onPage(ctx, &p, in.Messages, func(m provider.MessageRow) place { return place{m.Key, int64(m.VisibleAt), m.ID} }, func(m *provider.MessageRow) {
			m.Payload = nil
			res.Messages = append(res.Messages, *m)
		})
	case provider.InspectTasks:
		err = in.tasks(ctx, &p, &res)
	case provider.InspectTurnLeases:
		err = in.turnLeases(ctx, &p, &res)
	default:
		err = onPage(ctx, &p, distinct(in.keys(req.Kind)), func(key provider.UUID) place { return place{key: key} }, func(key *provider.UUID) {
			res.Keys = append(res.Keys, *key)
		})
	}
	if err != nil {
		return provider.InspectResult{}, err
	}
	res.Cursor, res.Now = p.cursor, in.Now()
	return res, nil
}

func (in Inspector) instances(ctx context.Context, p *pager, res *provider.InspectResult) error {
	return onPage(ctx, p, in.Instances, func(i InstanceRow) place { return place{key: i.Key} }, func(i *InstanceRow) {
		i.Attributes = nil
		res.Instances = append(res.Instances, i.Instance)
		p.bytes += len(i.CustomStatus) + len(i.Result)
	})
}

func (in Inspector) tasks(ctx context.Context, p *pager, res *provider.InspectResult) error {
	now := in.Now()
	return onPage(ctx, p, in.Tasks, func(t TaskRow) place { return place{t.Key, t.Execution, t.EventID} }, func(t *TaskRow) {
		if t.State != provider.TaskLeased {
			t.Lease = provider.LeaseRow{}
		} else {
			t.Lease.Over = t.Lease.Until <= now
		}
		res.Tasks = append(res.Tasks, t.TaskRow)
	})
}

func (in Inspector) turnLeases(ctx context.Context, p *pager, res *provider.InspectResult) error {
	now := in.Now()
	leased := func(ctx context.Context, each func(provider.TurnLeaseRow) bool) error {
		return in.Instances(ctx, func(i InstanceRow) bool {
			return i.Lease.Until == 0 || each(provider.TurnLeaseRow{Key: i.Key, Lease: i.Lease})
		})
	}
	return onPage(ctx, p, leased, func(l provider.TurnLeaseRow) place { return place{key: l.Key} }, func(l *provider.TurnLeaseRow) {
		l.Lease.Over = l.Lease.Until <= now
		res.TurnLeases = append(res.TurnLeases, *l)
	})
}

// keys returns the scan of a kind of which only keys are returned.
func (in Inspector) keys(kind provider.InspectKind) Scan[provider.UUID] {
	switch {
	case kind == provider.InspectAsks:
		return in.Asks
	case kind == provider.InspectValues:
		return in.Values
	case kind == provider.InspectDeadLetters:
		return in.Letters
	case kind == provider.InspectAttributes && in.Attributes != nil:
		return in.Attributes
	case kind == provider.InspectOutcomes && in.Outcomes != nil:
		return in.Outcomes
	}
	return func(ctx context.Context, each func(provider.UUID) bool) error {
		return in.Instances(ctx, func(i InstanceRow) bool {
			has := len(i.Attributes) > 0
			if kind == provider.InspectOutcomes {
				has = i.Result != nil || i.CustomStatus != nil
			}
			return !has || each(i.Key)
		})
	}
}

// distinct returns a scan of the same keys, each once.
func distinct(keys Scan[provider.UUID]) Scan[provider.UUID] {
	return func(ctx context.Context, each func(provider.UUID) bool) error {
		seen := map[provider.UUID]bool{}
		return keys(ctx, func(key provider.UUID) bool {
			if seen[key] {
				return true
			}
			seen[key] = true
			return each(key)
		})
	}
}

// A pager makes one page of an Inspect.
type pager struct {
	req       *provider.InspectRequest
	after     place
	continues bool
	bytes     int // payloads of the page so far
	cursor    string
}

// placed is a row with its place.
type placed[Row any] struct {
	at  place
	row Row
}

// onPage calls add with each row of the page, in order.
func onPage[Row any](ctx context.Context, p *pager, scan Scan[Row], at func(Row) place, add func(*Row)) error {
	limit := cmp.Or(p.req.Max, provider.MaxPage)
	byPlace := func(a, b placed[Row]) int { return a.at.byKey(b.at) }
	var (
		rows []placed[Row]
		full bool  // rows has all that the page needs of those that were scanned
		last place // of them
	)
	err := scan(ctx, func(row Row) bool {
		here := at(row)
		if !p.req.Key.IsZero() && here.key != p.req.Key || p.continues && here.byKey(p.after) <= 0 || full && here.byKey(last) > 0 {
			return true
		}
		rows = append(rows, placed[Row]{here, row})
		if len(rows) > 4*limit { // the page needs only the first ones, and one more to know that there is one
			slices.SortFunc(rows, byPlace)
			full, last = true, rows[limit].at
			rows = slices.Delete(rows, limit+1, len(rows))
		}
		return true
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, byPlace)
	for n := range rows {
		if n == limit || p.bytes >= provider.MaxFetchBytes {
			p.cursor = rows[n-1].at.cursor()
			return nil
		}
		add(&rows[n].row)
	}
	return nil
}
