package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A unit is one transaction in which a group of calls runs. It implements
// [relational.Rows]: reads are answered from what begin read and locked in one round
// trip, writes are held back for the next one.
type unit struct {
	p    *Provider
	ctx  context.Context //nolint:containedctx // the unit lives as long as one transaction, whose context it is
	conn *pgx.Conn
	wait bool // for locks that others hold, instead of leaving such instances out
	// single says that one call runs here. Then it may look at what its request did not name, for which
	// writes that were held back must go out before the end.
	single bool
	joined bool         // the transaction is the caller's, who began it and will end it
	before planSettings // of a caller's transaction

	now       provider.Time
	rows      map[provider.UUID]*stored // nil: there is none
	own       map[provider.UUID]*ownRow // of those of which no more than that is known
	ids       map[string]provider.UUID
	held      map[provider.UUID]struct{} // another transaction has them
	heldID    map[string]struct{}
	inbox     map[provider.UUID]*inbox
	tasks     map[provider.TaskRef]*relational.Task
	heldTasks map[provider.TaskRef]struct{}
	turns     map[relational.Lane]relational.Turns
	recalled  map[provider.UUID]*memory // the rows that this process knew without reading
	news      []*provider.Instance      // that calls of this process wait for
	wrote     map[provider.UUID]struct{}
	described map[provider.UUID]bool // more than the head of the row has changed
	view      relational.Tx          // that calls have
	effects   relational.Effects     // of the call that runs
	missing   *needError             // gathers the kinds that are missing, so that one transaction stores all; nil: the first ends the call
	freed     map[int64]struct{}     // kinds of leased tasks that were removed with their execution
	ops       ops
	came      []messageRow // that were sent
	args      []any        // of a lone step
}

var (
	_ relational.Rows      = (*unit)(nil)
	_ relational.BirthRows = (*unit)(nil)
)

// stored is an instance as begin read it. It is never changed.
type stored struct {
	relational.Head
	request string
	current bool
}

// inbox is what is known of one inbox: messages in order.
type inbox struct {
	list     []relational.Waiting
	events   map[int64]int64 // message IDs of the timers of the current execution, by event
	first    int             // how many of the first ones are known for sure
	complete bool            // all are known
	removed  map[int64]struct{}
	shared   bool // events are another one's
}

// needError asks for a transaction that begins with more than the calls' own needs.
type needError struct {
	needs relational.Needs
	turns []relational.TurnKind
	tasks []relational.TaskKind
}

func (e *needError) Error() string { return fmt.Sprintf("more is needed: %+v", *e) }

// kind tells whether kinds are missing.
func (e *needError) kind() bool { return len(e.turns)+len(e.tasks) > 0 }

// errHeld says that another transaction holds what a call needs.
var errHeld = errors.New("another transaction holds the instance")

// errAlone says that a call cannot share its transaction. In a group nothing is written before the end,
// so that a refused call can be taken back and no call waits for what another one of its group holds.
var errAlone = errors.New("the call needs a transaction of its own")

// unitOf answers the unit below a transaction of this store.
func unitOf(t *relational.Tx) *unit { return t.Rows.(*unit) } //nolint:forcetypeassert // all are made by unit.tx

// LoadHead implements [relational.Rows].
func (u *unit) LoadHead(key provider.UUID) (*relational.Head, error) {
	row, known := u.rows[key]
	if _, held := u.held[key]; held {
		return nil, errHeld
	}
	if !known {
		return nil, &needError{needs: relational.Needs{Keys: []provider.UUID{key}}}
	}
	if row == nil {
		return nil, nil //nolint:nilnil // no instance is an answer
	}
	h := row.Head
	return &h, nil
}

// Current implements [relational.Rows].
func (u *unit) Current(id string) (provider.UUID, error) {
	if _, held := u.heldID[id]; held {
		return provider.UUID{}, errHeld
	}
	key, known := u.ids[id]
	if !known {
		return key, &needError{needs: relational.Needs{IDs: []string{id}}}
	}
	return key, nil
}

// Rivals implements [relational.Rows].
func (u *unit) Rivals(id string, key provider.UUID) (sameID, sameKey *relational.Rival, err error) {
	current, err := u.Current(id)
	if err != nil {
		return nil, nil, err
	}
	if sameID, err = u.rival(current); err != nil {
		return nil, nil, err
	}
	sameKey, err = u.rival(key)
	return sameID, sameKey, err
}

func (u *unit) rival(key provider.UUID) (*relational.Rival, error) {
	if key.IsZero() {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if _, err := u.LoadHead(key); err != nil {
		return nil, err
	}
	row := u.rows[key]
	if row == nil {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return &relational.Rival{Key: row.Key, ID: row.ID, Status: row.Status, Deleting: row.Deleting, Request: row.request}, nil
}

// Attached implements [relational.Rows]. The children are wanted next, so all of them are asked for at once.
func (u *unit) Attached(parent provider.UUID) ([]provider.UUID, error) {
	rows, err := u.query(sqlAttached, uuid(parent))
	if err != nil {
		return nil, err
	}
	return u.known(rows)
}

// TurnsOf implements [relational.Rows].
func (u *unit) TurnsOf(token provider.UUID) ([]provider.UUID, error) {
	rows, err := u.query(sqlTurnsOf, uuid(token))
	if err != nil {
		return nil, err
	}
	return u.known(rows)
}

// known reads a column of keys of instances that are wanted next: all of them are asked for at once.
func (u *unit) known(rows pgx.Rows) ([]provider.UUID, error) {
	keys, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (key provider.UUID, err error) {
		return key, r.Scan(into(&key))
	})
	if err != nil {
		return nil, err
	}
	unknown := slices.DeleteFunc(slices.Clone(keys), func(key provider.UUID) bool {
		_, known := u.rows[key]
		return known
	})
	if len(unknown) > 0 {
		return nil, &needError{needs: relational.Needs{Keys: unknown}}
	}
	return keys, nil
}

const (
	sqlTurnsOf  = `SELECT key FROM (SELECT key FROM perdure.instance WHERE lease_token = $1 OFFSET 0) i ORDER BY key`
	sqlAttached = `SELECT key FROM (SELECT key FROM perdure.instance WHERE parent_key = $1 AND parent_close = 0 OFFSET 0) i ORDER BY key`
	// No index has the token: this is for the rare fetch of which nobody knows what it took.
	sqlTasksOf = `SELECT key, execution, event_id FROM perdure.task t WHERE state = 2
		AND token IN ($1, ` + sqlTokenFrom + `$1` + sqlTokenOfTask + `) ORDER BY 1, 2, 3`
)

// TasksOf implements [relational.Rows].
func (u *unit) TasksOf(token provider.UUID) ([]provider.TaskRef, error) {
	rows, err := u.query(sqlTasksOf, uuid(token))
	if err != nil {
		return nil, err
	}
	refs, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (ref provider.TaskRef, err error) {
		return ref, r.Scan(into(&ref.Key), &ref.Execution, &ref.EventID)
	})
	if err != nil {
		return nil, err
	}
	var more relational.Needs
	for _, ref := range refs {
		if _, known := u.tasks[ref]; !known {
			more.Keys, more.Tasks = append(more.Keys, ref.Key), append(more.Tasks, ref)
		}
	}
	if len(more.Tasks) > 0 {
		return nil, &needError{needs: more}
	}
	return refs, nil
}

// Waiting implements [relational.Rows].
func (u *unit) Waiting(key provider.UUID, named []int64, fn func(relational.Waiting) bool) error {
	box, err := u.box(key)
	if err != nil {
		return err
	}
	if !box.complete && box.first >= relational.ClosingLook { // a closing commit with very many
		return u.readWaiting(key, fn)
	}
	for i, w := range box.list {
		if _, gone := box.removed[w.ID]; gone || !box.complete && i >= box.first && !slices.Contains(named, w.ID) {
			continue // what is beyond the first ones is known by its name only
		}
		if !fn(w) {
			return nil
		}
	}
	return nil
}

const sqlWaiting = `SELECT visible_at, id, coalesce(octet_length(payload), 0), timer, execution FROM perdure.inbox
	WHERE key = $1 ORDER BY visible_at, id`

// readWaiting asks the database for a whole inbox.
func (u *unit) readWaiting(key provider.UUID, fn func(relational.Waiting) bool) error {
	rows, err := u.query(sqlWaiting, uuid(key))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var w relational.Waiting
		if err := rows.Scan(&w.VisibleAt, &w.ID, &w.Bytes, &w.Timer, &w.Execution); err != nil {
			return err
		}
		if !fn(w) {
			break
		}
	}
	rows.Close()
	return rows.Err()
}

// box answers what is known of an inbox.
func (u *unit) box(key provider.UUID) (*inbox, error) {
	box := u.inbox[key]
	if box == nil {
		return nil, &needError{needs: relational.Needs{Keys: []provider.UUID{key}, Inbox: []relational.InboxNeed{{Key: key, First: 1}}}}
	}
	return box, nil
}

// FirstVisible implements [relational.Rows].
func (u *unit) FirstVisible(key provider.UUID) (provider.Time, error) {
	box, err := u.box(key)
	if err != nil {
		return 0, err
	}
	for i, w := range box.list {
		if !box.complete && i >= box.first {
			break
		}
		if _, gone := box.removed[w.ID]; !gone {
			return w.VisibleAt, nil
		}
	}
	var at *provider.Time
	rows, err := u.query(`SELECT min(visible_at) FROM perdure.inbox WHERE key = $1`, uuid(key))
	if err != nil {
		return 0, err
	}
	at, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[*provider.Time])
	if err != nil || at == nil {
		return 0, err
	}
	return *at, nil
}

// Timers implements [relational.Rows].
func (u *unit) Timers(key provider.UUID, execution int64) (count, bytes int64, err error) {
	box, err := u.box(key)
	if err != nil {
		return 0, 0, err
	}
	if box.complete {
		for _, w := range box.list {
			if _, gone := box.removed[w.ID]; !gone && w.Timer && w.Execution == execution {
				count, bytes = count+1, bytes+w.Bytes
			}
		}
		return count, bytes, nil
	}
	rows, err := u.query(`SELECT count(*), coalesce(sum(octet_length(payload)), 0)::bigint FROM perdure.inbox
		WHERE key = $1 AND execution = $2 AND timer`, uuid(key), execution)
	if err != nil {
		return 0, 0, err
	}
	_, err = pgx.CollectExactlyOneRow(rows, func(r pgx.CollectableRow) (struct{}, error) { return struct{}{}, r.Scan(&count, &bytes) })
	return count, bytes, err
}

// ExecutionStatus implements [relational.Rows].
func (u *unit) ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error) {
	rows, err := u.query(`SELECT status FROM perdure.execution WHERE key = $1 AND execution = $2`, uuid(key), execution)
	if err != nil {
		return 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int16])
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return provider.Status(list[0]), nil
}

// Task implements [relational.Rows].
func (u *unit) Task(ref provider.TaskRef) (*relational.Task, error) {
	task, known := u.tasks[ref]
	if _, held := u.heldTasks[ref]; held && task == nil {
		return nil, errHeld
	}
	if !known {
		return nil, &needError{needs: relational.Needs{Tasks: []provider.TaskRef{ref}}}
	}
	if task == nil {
		return nil, nil //nolint:nilnil // none is an answer
	}
	copied := *task
	return &copied, nil
}

// Instance implements [relational.Rows].
func (u *unit) Instance(key provider.UUID) (provider.Instance, error) {
	if err := u.send(); err != nil {
		return provider.Instance{}, err
	}
	list, err := u.p.instances(u.ctx, u.conn, sqlInstance, uuid(key))
	if err != nil {
		return provider.Instance{}, err
	}
	if len(list) == 0 {
		return provider.Instance{}, relational.NotFound("", key)
	}
	return list[0], nil
}

// query sends what is held back and then reads what needs did not name.
func (u *unit) query(sql string, args ...any) (pgx.Rows, error) {
	if err := u.send(); err != nil {
		return nil, err
	}
	return u.conn.Query(u.ctx, u.p.names.sql(sql), args...)
}

// exchange sends a batch and reads its answers. A caller's connection may be one that speaks in another way.
func (u *unit) exchange(b *pgx.Batch) error {
	if u.joined {
		return u.conn.SendBatch(u.ctx, b).Close()
	}
	return u.p.exchange(u.ctx, u.conn, b)
}
