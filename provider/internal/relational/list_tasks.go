package relational

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// The next tasks after a place, in order. A row is found by a key that begins with that of an instance.
	sqlWalkTasks = `SELECT p.key, p.execution, p.event_id, k.queue, k.name,
	coalesce((SELECT i.deleting FROM perdure.instance i WHERE i.key = {ANY(ARRAY[p.key]) ORDER BY i.key|p.key}), {true|1}),
	(SELECT coalesce(length(t.details), 0) + coalesce(length(t.failure), 0) FROM perdure.task t
		WHERE t.key = p.key AND t.execution = p.execution AND t.event_id = p.event_id)
	FROM (SELECT x.key, x.execution, x.event_id, x.kind FROM `
	sqlWalkAll      = `perdure.task x WHERE `
	sqlWalkRetrying = `perdure.task x{| INDEXED BY perdure_task_retrying} WHERE ` + whileRetrying + ` AND `
	sqlWalkFrom     = `(x.key, x.execution, x.event_id) > ($2, $3, $4) ORDER BY x.key, x.execution, x.event_id LIMIT $1) p
	JOIN perdure.task_kind k ON k.id = p.kind ORDER BY p.key, p.execution, p.event_id`
	// The columns after those of a pending task.
	sqlListedTask = `SELECT ` + pendingColumns + `, t.key, i.id, ik.name, ik.code_version, ` + sqlNow + pendingOf + `
	CROSS JOIN {LATERAL (SELECT x.id, x.kind FROM perdure.instance x WHERE x.key = ANY(ARRAY[t.key]) ORDER BY x.key OFFSET 0) i
	|perdure.instance i ON i.key = t.key} JOIN perdure.kind ik ON ik.id = i.kind
	WHERE t.key = $1 AND t.execution = $2 AND t.event_id = $3`
)

// taskPlace is where a task stands in the order of ListTasks.
type taskPlace struct {
	key              RawKey
	execution, event int64
}

func (p taskPlace) cursor() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.execution))
	b = binary.BigEndian.AppendUint64(b, uint64(p.event))
	return base64.RawURLEncoding.EncodeToString(append(b, p.key...))
}

// readTaskPlace parses a cursor. The empty one is before all tasks.
func readTaskPlace(cursor string) (p taskPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 16 {
		return p, fmt.Errorf("list tasks: Cursor: %w: %q is of no list of tasks", provider.ErrInvalid, cursor)
	}
	return taskPlace{b[16:], int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, nil
}

// ListTasks implements [provider.TaskLister].
func (qs Queries) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ListTasksResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	after, err := readTaskPlace(req.Cursor)
	if err != nil {
		return provider.ListTasksResult{}, err
	}
	how := Reading{Op: "list tasks", Snapshot: true, Long: true}
	res, err := read(ctx, qs.storage, how, func(q Queryer, res *provider.ListTasksResult) error {
		w := taskWalk{req: &req, at: after, began: time.Now()}
		if err := w.walk(q); err != nil {
			return err
		}
		if w.more {
			res.Cursor = w.at.cursor()
		}
		return w.read(q, qs.storage.Skew(), res)
	})
	qs.storage.ObserveTime(res.Now)
	return res, err
}

// A taskWalk finds the tasks of a page.
type taskWalk struct {
	req   *provider.ListTasksRequest
	at    taskPlace // the last one that was looked at
	more  bool      // there may be others after it
	found []taskPlace
	bytes int64 // of the payloads of those found
	began time.Time
}

// walk looks at the next tasks until the page is full, or as long as a list of instances looks at rows.
func (w *taskWalk) walk(q Queryer) error {
	sql := sqlWalkTasks + sqlWalkAll + sqlWalkFrom
	if w.req.Retrying {
		sql = sqlWalkTasks + sqlWalkRetrying + sqlWalkFrom
	}
	for rounds := 1; ; rounds++ {
		rows := 0
		w.more = false
		settings := Query{SQL: sqlByOrder, Each: func(Row) error { return nil }}
		err := q.Query(settings, Query{SQL: sql, Args: []any{provider.MinRows, w.at.key, w.at.execution, w.at.event}, Each: func(r Row) error {
			rows++
			return w.take(r)
		}})
		if err != nil || w.more || rows < provider.MinRows {
			return err
		}
		w.more = true
		if next := time.Since(w.began) / time.Duration(rounds); rounds == scanRows/provider.MinRows || time.Since(w.began)+next > scanTime {
			return nil
		}
	}
}

// take looks at one task. It stops the walk before one that the page has no room for.
func (w *taskWalk) take(r Row) error {
	place := taskPlace{append(RawKey{}, r.Blob(0)...), r.Int(1), r.Int(2)}
	wanted := (w.req.Queue == "" || w.req.Queue == r.Text(3)) && (w.req.Name == "" || w.req.Name == r.Text(4)) && !r.Bool(5)
	bytes := r.Int(6)
	if wanted && len(w.found) > 0 && (len(w.found) == w.req.Max || w.bytes+bytes > provider.MaxFetchBytes) {
		w.more = true
		return ErrStop
	}
	if w.at = place; wanted {
		w.found, w.bytes = append(w.found, place), w.bytes+bytes
	}
	return nil
}

// read reads the tasks that were found, and the time.
func (w *taskWalk) read(q Queryer, skew int64, res *provider.ListTasksResult) error {
	list := make([]Query, 1, 1+len(w.found))
	list[0] = Query{SQL: `SELECT ` + sqlNow, Each: func(r Row) error {
		res.Now = timeIn(r, 0)
		return nil
	}}
	for _, p := range w.found {
		list = append(list, Query{SQL: sqlListedTask, Args: []any{p.key, p.execution, p.event}, Each: func(r Row) error {
			now := timeIn(r, pendingCount+4)
			res.Tasks = append(res.Tasks, provider.ListedTask{
				TaskInfo: pending(r, r.UUID(pendingCount), now, skew), InstanceID: r.Text(pendingCount + 1), Orchestration: r.Text(pendingCount + 2),
				CodeVersion: r.Text(pendingCount + 3),
			})
			return nil
		}})
	}
	return q.Query(list...)
}
