package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// position is the position of a row in the order of Inspect.
type position struct {
	key  provider.UUID
	a, b int64
}

func (s position) compare(o position) int {
	return cmp.Or(slices.Compare(s.key[:], o.key[:]), cmp.Compare(s.a, o.a), cmp.Compare(s.b, o.b))
}

// shown is a row and how to add it to a page.
type shown struct {
	at    position
	bytes int
	add   func(*provider.InspectResult)
}

// Inspect implements provider.Inspector. Every row has an instance, since nothing outlives its key here.
func (rd *reader) Inspect(ctx context.Context, req provider.InspectRequest) (res provider.InspectResult, err error) {
	err = rd.do(ctx, req, func(now provider.Time) error {
		after, err := readPosition(req.Cursor)
		if err != nil {
			return err
		}
		rows := slices.DeleteFunc(rd.rows(req.Kind, now), func(r shown) bool {
			return !req.Key.IsZero() && r.at.key != req.Key || req.Cursor != "" && r.at.compare(after) <= 0
		})
		slices.SortFunc(rows, func(a, b shown) int { return a.at.compare(b.at) })
		res = provider.InspectResult{Now: now}
		bytes := 0
		for n, r := range rows {
			if n == cmp.Or(req.Max, provider.MaxPage) || bytes >= provider.MaxFetchBytes {
				last := rows[n-1].at
				res.Cursor = fmt.Sprintf("%s %d %d", last.key, last.a, last.b)
				break
			}
			r.add(&res)
			bytes += r.bytes
		}
		return nil
	})
	return res, err
}

func readPosition(cursor string) (s position, err error) {
	if cursor == "" {
		return s, nil
	}
	var key string
	_, err = fmt.Sscanf(cursor, "%s %d %d", &key, &s.a, &s.b)
	if err == nil {
		err = s.key.UnmarshalText([]byte(key))
	}
	if err != nil {
		return s, fmt.Errorf("inspect: Cursor: %w: use InspectResult.Cursor of the previous page", provider.ErrInvalid)
	}
	return s, nil
}

// rows lists all rows of a kind, unordered.
func (rd *reader) rows(kind provider.InspectKind, now provider.Time) (rows []shown) {
	switch kind {
	case provider.InspectTasks:
		for _, t := range rd.tasks.byRef {
			rows = append(rows, t.show(now))
		}
	case provider.InspectAsks:
		keys := map[provider.UUID]bool{}
		for _, a := range rd.asks.open {
			keys[a.key] = true
		}
		rows = showKeys(keys)
	case provider.InspectDeadLetters:
		keys := map[provider.UUID]bool{}
		for _, l := range rd.deadLetters.list {
			keys[l.Key] = true
		}
		rows = showKeys(keys)
	default:
		for _, i := range rd.instances.byKey {
			rows = append(rows, i.show(kind, now)...)
		}
	}
	return rows
}

func showKey(key provider.UUID) shown {
	return shown{at: position{key: key}, add: func(res *provider.InspectResult) { res.Keys = append(res.Keys, key) }}
}

func showKeys(keys map[provider.UUID]bool) (rows []shown) {
	for key := range keys {
		rows = append(rows, showKey(key))
	}
	return rows
}

// show returns the rows of a kind that belong to the instance itself.
func (i *instance) show(kind provider.InspectKind, now provider.Time) []shown {
	key := i.row.Key
	only := func(there bool) []shown {
		if there {
			return []shown{showKey(key)}
		}
		return nil
	}
	switch kind {
	case provider.InspectInstances:
		bytes := len(i.row.Result) + len(i.row.CustomStatus) + len(i.row.Excerpt)
		return []shown{{position{key: key}, bytes, func(res *provider.InspectResult) {
			row := i.view()
			row.Attributes = nil
			res.Instances = append(res.Instances, row)
		}}}
	case provider.InspectExecutions, provider.InspectHistory:
		return i.showExecutions(kind)
	case provider.InspectMessages:
		return i.showMessages()
	case provider.InspectTurnLeases:
		if i.lease.IsZero() {
			return nil
		}
		return []shown{{at: position{key: key}, add: func(res *provider.InspectResult) {
			res.TurnLeases = append(res.TurnLeases, provider.TurnLeaseRow{Key: key, Lease: leaseRow(i.leaseOwner, i.leaseUntil, now)})
		}}}
	case provider.InspectValues:
		return only(len(i.values) > 0)
	case provider.InspectAttributes:
		return only(len(i.attributes) > 0)
	default:
		return only(i.row.Result != nil || i.row.CustomStatus != nil)
	}
}

func (i *instance) showExecutions(kind provider.InspectKind) (rows []shown) {
	for n, x := range i.executions {
		number, length := int64(n)+1, int64(len(x.events))
		row := shown{at: position{i.row.Key, number, 1}}
		switch {
		case kind == provider.InspectHistory && length > 0:
			row.add = func(res *provider.InspectResult) {
				res.History = append(res.History, provider.HistoryRow{Key: i.row.Key, Execution: number, First: 1, Count: length})
			}
		case kind == provider.InspectExecutions && number < i.row.Execution && x.status != 0:
			row.add = func(res *provider.InspectResult) {
				res.Executions = append(res.Executions, provider.ExecutionRow{
					Key: i.row.Key, Execution: number, Status: x.status, Length: length,
				})
			}
		default:
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

func (i *instance) showMessages() []shown {
	rows := make([]shown, 0, len(i.inbox))
	for _, m := range i.inbox {
		m.Payload = nil
		rows = append(rows, shown{at: position{i.row.Key, int64(m.VisibleAt), m.ID}, add: func(res *provider.InspectResult) {
			res.Messages = append(res.Messages, provider.MessageRow{Key: i.row.Key, Message: m})
		}})
	}
	return rows
}

func (t *task) show(now provider.Time) shown {
	return shown{at: position{t.Key, t.Execution, t.EventID}, add: func(res *provider.InspectResult) {
		row := provider.TaskRow{TaskRef: t.TaskRef, State: t.state, CancelRequested: t.cancel}
		if t.state == provider.TaskLeased {
			row.Lease = leaseRow(t.owner, t.leaseUntil, now)
		}
		res.Tasks = append(res.Tasks, row)
	}}
}

// leaseRow never reports an owner as dead, since all of them live in this process.
func leaseRow(owner string, until, now provider.Time) provider.LeaseRow {
	return provider.LeaseRow{Owner: owner, Until: until, Over: until <= now}
}
