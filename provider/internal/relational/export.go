package relational

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlExportCheck = `SELECT i.version, i.status, i.deleting, s.state, s.transfer, ` + sqlNow + ` FROM perdure.instance i
	LEFT JOIN perdure.seal s ON s.key = i.key WHERE i.key = $1`
	sqlExportHead = `SELECT ` + instanceAnd + `i.current, i.not_before_at, i.next_message, s.status, o.acts` + instanceOf + `
	LEFT JOIN perdure.seal s ON s.key = i.key WHERE i.key = $1`
	sqlExportRuns     = `SELECT execution, status, length, ended_at FROM perdure.execution WHERE key = $1 ORDER BY execution`
	sqlExportRequests = `SELECT request_id FROM perdure.request WHERE key = $1 ORDER BY number`
	sqlExportListener = `SELECT listener, kind, execution, event_id, delay, engine_level, payload{|, sum} FROM perdure.listener WHERE key = $1`
	sqlExportEvents   = `SELECT execution, first_id, events, data{|, sum} FROM perdure.history
	WHERE key = $1 AND (execution, first_id) > ($2, $3) ORDER BY execution, first_id LIMIT $4`
	sqlExportMessages = `SELECT visible_at, id, kind, timer, execution, event_id, payload{|, sum} FROM perdure.inbox
	WHERE key = $1 AND (visible_at, id) > ($2, $3) ORDER BY visible_at, id LIMIT $4`
	sqlExportTasks = `SELECT t.execution, t.event_id, k.queue, k.name, k.priority, t.state, t.attempt, t.deliveries, t.token, t.cancel,
	t.scheduled_at, t.not_before_at, t.start_by_at, t.deadline_at, t.begun, t.rank_at, t.fairness_key, t.session, t.limit_key,
	t.details, t.failure, t.payload{|, t.sum} FROM perdure.task t JOIN perdure.task_kind k ON k.id = t.kind
	WHERE t.key = $1 AND (t.execution, t.event_id) > ($2, $3) ORDER BY t.execution, t.event_id LIMIT $4`
	sqlExportValues      = `SELECT name, value FROM perdure.value WHERE key = $1 AND name > $2 ORDER BY name LIMIT $3`
	sqlExportDeadLetters = deadLetterColumns + `key = $1 AND id > $2 ORDER BY id LIMIT $3`
)

// exportRows is how many rows one statement of an export reads.
const exportRows = 500

// The parts of an export, in order. Their numbers are in cursors.
const (
	exportHead = iota
	exportEvents
	exportMessages
	exportTasks
	exportValues
	exportDeadLetters
	exportEnd
)

// Export implements [provider.Mover].
func (qs Queries) Export(ctx context.Context, req provider.ExportRequest) (provider.ExportResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ExportResult{}, err
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes
	}
	from, err := readExportCursor(req.Cursor)
	if err != nil {
		return provider.ExportResult{}, err
	}
	how := Reading{Op: "export", Snapshot: true, Long: true}
	res, err := read(ctx, qs.storage, how, func(q Queryer, res *provider.ExportResult) error {
		e := export{q: q, req: &req, res: res, at: from}
		return e.run()
	})
	qs.storage.ObserveTime(res.Now)
	return res, err
}

// export is the reading of one page.
type export struct {
	q    Queryer
	req  *provider.ExportRequest
	res  *provider.ExportResult
	at   exportPlace
	size int
	rows int // of the last statement
}

// run fills the page.
func (e *export) run() error {
	if err := e.check(); err != nil {
		return err
	}
	if e.at.part == exportHead {
		if err := e.head(); err != nil {
			return err
		}
		e.at.next()
	}
	for e.at.part < exportEnd && e.size < e.req.MaxBytes {
		e.rows = 0
		if err := e.some(); err != nil {
			return fmt.Errorf("export: instance %s: %w", e.req.Key, err)
		}
		if e.rows < exportRows && e.size < e.req.MaxBytes {
			e.at.next()
		}
	}
	if e.at.part < exportEnd {
		e.res.Cursor = e.at.cursor()
	}
	return nil
}

// check refuses an instance that may change.
func (e *export) check() error {
	found := false
	err := e.q.Query(Query{SQL: sqlExportCheck, Args: []any{e.req.Key}, Each: func(r Row) error {
		found = true
		e.res.Version, e.res.Now = r.UUID(0), timeIn(r, 5)
		status, deleting, state := provider.Status(r.Int(1)), r.Bool(2), provider.SealState(r.Int(3))
		switch {
		case state == provider.SealClosed && r.UUID(4) == e.req.Transfer, state == provider.SealNone && status.Ended() && !deleting:
			return nil
		case state == provider.SealNone && deleting:
			return NotFound("", e.req.Key)
		}
		return fmt.Errorf("export: instance %s (status %s, seal %s): %w", e.req.Key, status, state, provider.ErrConflict)
	}})
	if err == nil && !found {
		err = NotFound("", e.req.Key)
	}
	return err
}

// head reads what the first page has.
func (e *export) head() error {
	head := &provider.MovedHead{}
	e.res.Parcel.Head = head
	in, attributes := &head.Instance, false
	err := e.q.Query(Query{SQL: sqlExportHead, Args: []any{e.req.Key}, Each: func(r Row) error {
		attributes = ScanInstance(r, in)
		head.Replaced, head.NotBefore, head.NextMessage = !r.Bool(moreColumns), timeIn(r, moreColumns+1), r.Int(moreColumns+2)
		if back := provider.Status(r.Int(moreColumns + 3)); in.Deleting && back != 0 {
			in.Status = back
		}
		for acts := r.Blob(moreColumns + 4); len(acts) >= actSize; acts = acts[actSize:] {
			head.Acts = append(head.Acts, append([]byte{}, acts[:actSize]...))
		}
		in.Deleting, head.ReadyAt = false, in.ReadyAt
		return nil
	}})
	if err != nil {
		return err
	}
	if attributes {
		err = e.list(sqlAttributes, func(r Row) { in.Attributes = append(in.Attributes, ScanAttribute(r, 0)) })
	}
	if err == nil {
		err = e.list(sqlExportRuns, func(r Row) {
			head.Executions = append(head.Executions, provider.MovedExecution{
				Execution: r.Int(0), Status: provider.Status(r.Int(1)), Length: r.Int(2), EndedAt: timeIn(r, 3),
			})
		})
	}
	if err == nil {
		err = e.list(sqlExportRequests, func(r Row) { head.Requests = append(head.Requests, r.Text(0)) })
	}
	if err == nil {
		err = e.list(sqlExportListener, func(r Row) { head.Listener = scanListener(r) })
	}
	e.size += e.res.Parcel.Bytes()
	return err
}

func (e *export) list(sql string, each func(Row)) error {
	return e.q.Query(Query{SQL: sql, Args: []any{e.req.Key}, Each: func(r Row) error {
		each(r)
		return r.Fault()
	}})
}

// some reads some rows of the part that the page has reached.
func (e *export) some() error {
	key, at := e.req.Key, &e.at
	switch at.part {
	case exportEvents:
		return e.page(sqlExportEvents, []any{key, at.a, at.b, exportRows}, e.events)
	case exportMessages:
		return e.page(sqlExportMessages, []any{key, at.a, at.b, exportRows}, e.message)
	case exportTasks:
		return e.page(sqlExportTasks, []any{key, at.a, at.b, exportRows}, e.task)
	case exportValues:
		return e.page(sqlExportValues, []any{key, at.name, exportRows}, e.value)
	default:
		return e.page(sqlExportDeadLetters, []any{key, at.a, exportRows}, e.deadLetter)
	}
}

// page adds rows until the page is full.
func (e *export) page(sql string, args []any, take func(Row) (bytes int, err error)) error {
	return e.q.Query(Query{SQL: sql, Args: args, Each: func(r Row) error {
		n, err := take(r)
		if err == nil {
			err = r.Fault()
		}
		if err != nil {
			return err
		}
		e.rows, e.size = e.rows+1, e.size+n
		if e.size >= e.req.MaxBytes {
			return ErrStop
		}
		return nil
	}})
}
