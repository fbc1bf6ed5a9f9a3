package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// A reader implements the calls that only read.
type reader struct {
	*store

	instances   *instances
	tasks       *tasks
	asks        *asks
	deadLetters *deadLetters
}

// ReadHistory implements provider.Provider.
func (rd *reader) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	err = rd.do(ctx, req, func(provider.Time) error {
		i, err := rd.instances.find("", req.Key)
		if err != nil {
			return err
		}
		n := cmp.Or(req.Execution, i.row.Execution)
		if i.status(n) == 0 {
			return provider.ErrNotFound
		}
		events := i.executions[n-1].events
		length := int64(len(events))
		res = provider.ReadHistoryResult{Execution: n, Status: i.status(n), Length: length, Version: i.row.Version}
		to := length
		if req.To > 0 {
			to = min(to, req.To)
		}
		room := cmp.Or(req.MaxBytes, provider.MaxFetchBytes)
		for id := req.From; id <= to; id++ {
			data := events[id-1]
			if room -= len(data); room < 0 && id > req.From {
				res.More = true
				break
			}
			res.Events = append(res.Events, provider.Event{ID: id, Data: slices.Clone(data)})
		}
		return nil
	})
	return res, err
}

// List implements provider.Lister.
func (rd *reader) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	err = rd.do(ctx, req, func(now provider.Time) error {
		list := rd.matching(&req.Filter)
		if req.Cursor != "" {
			at, key, err := readCursor(req.Cursor)
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(i *instance) bool { return compare(&i.row, at, key) >= 0 })
		}
		page := list[:min(len(list), cmp.Or(req.Max, provider.MaxPage))]
		res = provider.ListResult{Now: now}
		bytes := 0
		for n, i := range page {
			row := i.view()
			req.Trim(&row)
			if bytes += row.ListBytes(); bytes > provider.MaxFetchBytes && n > 0 {
				page = page[:n]
				break
			}
			res.Instances = append(res.Instances, row)
		}
		if len(page) < len(list) {
			last := &page[len(page)-1].row
			res.Cursor, res.Reached = fmt.Sprintf("%d/%s", last.CreatedAt, last.Key), last.CreatedAt
		}
		return nil
	})
	return res, err
}

func readCursor(s string) (at provider.Time, key provider.UUID, err error) {
	created, id, _ := strings.Cut(s, "/")
	n, err := strconv.ParseInt(created, 10, 64)
	if err == nil {
		err = key.UnmarshalText([]byte(id))
	}
	if err != nil {
		return 0, key, fmt.Errorf("list: Cursor: %w: use ListResult.Cursor of the previous page", provider.ErrInvalid)
	}
	return provider.Time(n), key, nil
}

// Count implements provider.Lister.
func (rd *reader) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	err = rd.do(ctx, req, func(provider.Time) error {
		n := int64(len(rd.matching(&req.Filter)))
		res = provider.CountResult{Count: n, Exact: true}
		if req.Max > 0 && n > req.Max {
			res = provider.CountResult{Count: req.Max}
		}
		return nil
	})
	return res, err
}

// Get implements provider.Provider.
func (rd *reader) Get(ctx context.Context, req provider.GetRequest) (res provider.GetResult, err error) {
	wait := req.Wait
	if !req.Waits() {
		wait = 0
	}
	key := req.Key          // the instance that the ID named first; a successor has another key
	var paced provider.Time // when a call with a Mark may return
	err = rd.wait(ctx, req, wait, func(now provider.Time) (bool, provider.Time, error) {
		i, err := rd.instances.find(req.ID, key)
		if err != nil {
			return false, 0, err
		}
		key = i.row.Key
		res = provider.GetResult{Instance: i.view(), Now: now}
		if req.WithTasks {
			res.Tasks = rd.tasks.infos(key, now)
			for _, l := range rd.deadLetters.list {
				if l.Key == key {
					res.DeadLetters++
				}
			}
		}
		if req.WithValues {
			for _, k := range slices.Sorted(maps.Keys(i.values)) {
				res.Values = append(res.Values, provider.KeyValue{Key: k, Value: slices.Clone(i.values[k])})
			}
		}
		if value, ok := i.values[req.Value]; ok && req.Value != "" {
			res.Value = &provider.KeyValue{Key: req.Value, Value: slices.Clone(value)}
		}
		if req.Mark == "" {
			return req.Ends(&res), 0, nil
		}
		if paced == 0 {
			paced = now.Add(provider.MarkPace)
		}
		if now < paced {
			return false, paced, nil
		}
		res.Mark, paced = provider.MarkOf(&res), now.Add(provider.MarkPace)
		return req.Ends(&res), res.NextLapse(), nil
	})
	if err != nil {
		return provider.GetResult{}, err
	}
	if req.Marks() && res.Mark == "" { // the wait has passed
		res.Mark = provider.MarkOf(&res)
	}
	return res, nil
}

// taskInfos describes the pending tasks of an instance.
func (ts *tasks) infos(key provider.UUID, now provider.Time) []provider.TaskInfo {
	var list []provider.TaskInfo
	for _, t := range ts.byRef {
		if t.Key != key {
			continue
		}
		list = append(list, ts.info(t, now))
	}
	slices.SortFunc(list, func(a, b provider.TaskInfo) int { return cmp.Compare(a.EventID, b.EventID) })
	return list
}

// info describes a pending task.
func (ts *tasks) info(t *task, now provider.Time) provider.TaskInfo {
	info := provider.TaskInfo{
		TaskRef: t.TaskRef, Queue: t.queue, Name: t.name, Priority: t.priority, FairnessKey: t.fairness, Session: t.session,
		State: t.state, Attempt: t.attempt, Deliveries: t.deliveries,
		Owner: t.owner, LeaseUntil: t.leaseUntil, NotBefore: t.notBefore, StartBy: t.startBy, Deadline: t.deadline,
		ScheduledAt: t.scheduled, Details: slices.Clone(t.details), Failure: slices.Clone(t.failure),
	}
	if t.session != "" && ts.heldUntil(t.session) > now {
		info.SessionOwner = ts.sessions[t.session].owner
	}
	if t.state == provider.TaskLeased && t.leaseUntil <= now {
		info.State, info.Owner, info.LeaseUntil = provider.TaskQueued, "", 0
	}
	return info
}

// matching returns the instances that match the filter, newest first.
func (rd *reader) matching(f *provider.Filter) []*instance {
	list := rd.instances.matching(f)
	if !f.Retrying {
		return list
	}
	keys := make(map[provider.UUID]bool)
	for ref, t := range rd.tasks.byRef {
		if t.retrying() {
			keys[ref.Key] = true
		}
	}
	return slices.DeleteFunc(list, func(i *instance) bool { return !keys[i.row.Key] })
}
