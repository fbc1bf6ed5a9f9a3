package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// pulse is how often a process renews its row, while it or others hold leases.
	pulse = 2500 * time.Millisecond
	// silence is how long without a renewal makes a process dead.
	silence = 10 * time.Second
)

const (
	sqlRenewProcess = `INSERT INTO perdure.process (id, owners, renewed_at) VALUES ($1, $2, ` + sqlNow + `)
	ON CONFLICT (id) DO UPDATE SET owners = excluded.owners, renewed_at = excluded.renewed_at`
	sqlLeaveProcess = `DELETE FROM perdure.process WHERE id = $1`
	// Whether others serve owners, and since when the most silent of them was silent.
	sqlOtherProcesses = `SELECT ` + sqlNow + `, coalesce(bool_or(n.owners <> '{}'), false), coalesce(min(n.renewed_at), 9223372036854775807)
	FROM perdure.process n WHERE n.id <> $1`
)

// presence shows other processes that this one lives, while it holds leases, and ends the leases of dead processes. It
// renews its row even if only others hold leases, because a process that cannot write must not judge.
type presence struct {
	db       *database
	kinds    *kinds
	notifier *notifier
	stepBack *stepBack
	process  string
	ctx      context.Context //nolint:containedctx // it ends with the provider
	cancel   context.CancelFunc
	ended    sync.WaitGroup
	poke     chan struct{}

	mu     sync.Mutex
	owners map[string]struct{} // served by this process
	shown  map[string]struct{} // named by its row
	wrote  time.Time           // when that was stored last
	until  time.Time           // when their last lease expires

	writing chan struct{} // a slot for writing the row; it guards the fields below
	// Used only by the goroutine that checks liveness, except stored.
	stored      bool          // there may be a row of this process
	others      bool          // others serve owners
	first, last provider.Time // of the last series of renewals without a gap; 0: none
}

func startPresence(db *database, kinds *kinds, notifier *notifier, stepBack *stepBack) *presence {
	s := &presence{
		db: db, kinds: kinds, notifier: notifier, stepBack: stepBack, process: notifier.node, poke: make(chan struct{}, 1), owners: make(map[string]struct{}),
		shown: make(map[string]struct{}), writing: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(db.hard)
	s.ended.Go(s.loop)
	return s
}

// stop ends the renewals.
func (s *presence) stop() {
	s.cancel()
	s.ended.Wait()
}

// leave ends the remaining leases of this process. The store closes after it.
func (s *presence) leave() {
	owners := s.serves()
	if !s.stored && len(owners) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), time.Second)
	defer cancel()
	if err := s.reapOwn(ctx, owners); err != nil {
		s.db.opts.Logger.Warn("perdure postgres: ending the leases of this process failed, other processes end them later", "error", err)
	}
}

// serve records that an owner of this process holds leases for d; "" stands for all owners.
func (s *presence) serve(owner string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until := time.Now().Add(d); until.After(s.until) {
		s.until = until
	}
	if _, known := s.owners[owner]; known || owner == "" {
		return
	}
	s.owners[owner] = struct{}{}
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// shows reports whether the row of this process names an owner, and will for longer than a call takes. Others may have
// removed a row that was not renewed in time.
func (s *presence) shows(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.shown[owner]
	return ok && !time.Now().After(s.until) && time.Since(s.wrote) < silence
}

// show makes the row of this process name an owner, which is about to get leases for d. Otherwise nobody would end them
// if the process died now. Without the right to write the row its leases last until they expire.
func (s *presence) show(ctx context.Context, owner string, d time.Duration) error {
	if s.shows(owner) {
		return nil
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.written()
	if s.shows(owner) {
		return nil
	}
	s.serve(owner, d)
	ctx, cancel := context.WithTimeout(ctx, 2*pulse)
	defer cancel()
	owners := s.serves()
	s.stored = true
	at := time.Now()
	_, err := s.db.reserve.Exec(ctx, s.db.names.sql(sqlRenewProcess), s.process, owners)
	if err != nil && !permanent(err) {
		return fmt.Errorf("showing other processes that this one lives: %w", err)
	}
	s.names(owners, at)
	return nil
}

// write takes the slot for writing the row. written returns it.
func (s *presence) write(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *presence) written() { <-s.writing }

// names records the owners that the row names, and since when.
func (s *presence) names(owners []string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = at
	for _, owner := range owners {
		s.shown[owner] = struct{}{}
	}
}

// serves returns the owners that may hold leases. A call that relies on the row may be in flight when the last lease
// ends.
func (s *presence) serves() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().After(s.until.Add(2 * s.db.opts.Timeout)) {
		clear(s.owners)
		clear(s.shown)
	}
	return slices.AppendSeq([]string{}, maps.Keys(s.owners))
}

func (s *presence) loop() {
	defer s.leave()
	for s.ctx.Err() == nil {
		wait, err := s.checkLiveness()
		if err != nil && s.ctx.Err() == nil {
			s.db.opts.Logger.Warn("perdure postgres: renewing the row of this process failed", "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.poke:
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// checkLiveness renews the row of this process if it is needed, and checks those of the others. It returns when to do so
// again.
func (s *presence) checkLiveness() (time.Duration, error) {
	if err := s.write(s.ctx); err != nil {
		return pulse, err
	}
	defer s.written()
	owners, at := s.serves(), time.Now()
	renews := len(owners) > 0 || s.others
	if !renews && !s.stored && !s.notifier.waiters.awaited() { // a process that takes nothing takes over nothing
		return pulse, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, 2*pulse)
	defer cancel()
	b := &pgx.Batch{}
	b.Queue(sqlByIndex) // also on a pool of the store: its spare connections are without the settings
	if renews {
		b.Queue(s.db.names.sql(sqlRenewProcess), s.process, owners)
		s.stored = true
	} else if s.stored {
		b.Queue(s.db.names.sql(sqlLeaveProcess), s.process)
	}
	var now, oldest, newest provider.Time
	s.stepBack.queueNewest(b, &newest)
	b.Queue(s.db.names.sql(sqlOtherProcesses), s.process).QueryRow(func(r pgx.Row) error { return r.Scan(&now, &s.others, &oldest) })
	asked := time.Now()
	err := s.db.reserve.SendBatch(ctx, b).Close()
	s.renewed(now, renews && err == nil)
	if err != nil {
		return pulse, err
	}
	s.stepBack.observe(now, newest, asked, time.Now())
	s.stored = renews
	s.names(owners, at)
	if s.others && !renews {
		return 0, nil // a process that does not renew its row judges nobody
	}
	if limit := s.limit(); oldest <= limit {
		return pulse, s.reapSilent(ctx, limit)
	}
	if due := oldest.Add(silence).Sub(now); oldest != relational.Never && due > 0 {
		return min(due+time.Millisecond, pulse), nil
	}
	return pulse, nil
}

// renewed records a renewal. A late one begins a new series, as does one after a failure.
func (s *presence) renewed(now provider.Time, ok bool) {
	switch {
	case !ok:
		s.first, s.last = 0, 0
	case s.first == 0 || now < s.last || now.Sub(s.last) > 2*pulse:
		s.first, s.last = now, now
	default:
		s.last = now
	}
}

// limit returns the time before which the last renewal of a dead process was. After an outage of the database all rows
// are old. So a process judges nobody until it has renewed its own row for as long without a gap.
func (s *presence) limit() provider.Time {
	if s.first == 0 || s.last.Sub(s.first) < silence {
		return 0
	}
	return s.last.Add(-silence)
}

// handsOff names the owners to which a call is about to lease tasks, unless the call is invalid: the row could not hold an
// owner that is no valid text, and this process could not renew it any more.
func (s *presence) handsOff(ctx context.Context, tasks []provider.NewTask, validate func() error) error {
	for i := range tasks {
		if lease := tasks[i].Lease; lease != nil {
			if err := validate(); err != nil {
				return err
			}
			if err := s.show(ctx, lease.Owner, lease.Duration); err != nil {
				return err
			}
		}
	}
	return nil
}

// handedOff records the leases of tasks that a call has stored, or may have.
func (s *presence) handedOff(tasks []provider.NewTask, err error) {
	if err != nil && provider.OutcomeOf(err) == provider.OutcomeNothing {
		return
	}
	for i := range tasks {
		if lease := tasks[i].Lease; lease != nil {
			s.serve(lease.Owner, lease.Duration)
		}
	}
}

// These statements end the leases of owners that are gone: those of silent processes, and those of a process that
// closes the store. An owner that a living process serves, too, is not gone. The statements wait for no lock. Locked
// rows come with the next pulse, because the rows of silent processes stay for a while.
const (
	sqlClock  = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now),`
	sqlSilent = sqlClock + `
	gone AS MATERIALIZED (SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.renewed_at <= $1
		EXCEPT SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.renewed_at > $1)`
	sqlOwn = sqlClock + `
	gone AS MATERIALIZED (SELECT o.owner FROM unnest($1::text[]) o (owner)
		EXCEPT SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.id <> $2)`
	sqlEndTurnsOf = `,
	held AS MATERIALIZED (SELECT i.key FROM perdure.instance i WHERE i.lease_token IS NOT NULL AND i.lease_until > (SELECT now FROM clock)
		AND i.lease_owner IN (SELECT owner FROM gone) ORDER BY i.key FOR UPDATE SKIP LOCKED)
	UPDATE perdure.instance i SET lease_until = c.now, fetch_at = CASE WHEN i.fetch_at = i.lease_until THEN c.now ELSE i.fetch_at END
	FROM held, clock c WHERE i.key = held.key RETURNING i.kind`
	// Tasks of suspended instances are handled by a query of their own. The time of a task counts from now on, and no longer the end of
	// its lease.
	sqlEndTasksOf = `,
	held AS MATERIALIZED (SELECT d.* FROM perdure.task_kind k CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at > 0 AND t.fetch_at > (SELECT now FROM clock)
			AND t.state = 2 AND t.lease_until > (SELECT now FROM clock) AND t.owner IN (SELECT owner FROM gone) FOR UPDATE SKIP LOCKED) d
		UNION ALL SELECT d.* FROM perdure.task_kind k CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at = 0 AND t.state = 2
			AND t.lease_until > (SELECT now FROM clock) AND t.owner IN (SELECT owner FROM gone) FOR UPDATE SKIP LOCKED) d)
	UPDATE perdure.task t SET lease_until = c.now, fetch_at = CASE WHEN t.fetch_at = t.lease_until THEN c.now ELSE t.fetch_at END,
		expire_at = CASE WHEN t.expire_at = 0 THEN 0 WHEN t.begun OR t.start_by_at = 0 THEN t.deadline_at
			WHEN t.deadline_at = 0 THEN t.start_by_at ELSE least(t.start_by_at, t.deadline_at) END
	FROM held, clock c WHERE t.key = held.key AND t.execution = held.execution AND t.event_id = held.event_id
	RETURNING t.kind, t.expire_at > 0 AND t.expire_at <= c.now`
	sqlEndSessionsOf = `,
	held AS MATERIALIZED (SELECT s.id FROM perdure.session s WHERE s.owner IN (SELECT owner FROM gone) AND ` + sqlHeld + `
		ORDER BY s.id FOR UPDATE SKIP LOCKED)
	UPDATE perdure.session s SET lease_until = c.now FROM held, clock c WHERE s.id = held.id RETURNING 1`
	sqlRemoveProcesses = `DELETE FROM perdure.process WHERE renewed_at <= $1 OR id = $2`
)

// reapSilent ends the leases of processes whose rows were not renewed since limit. A process that was judged wrongly is
// safe: its tokens no longer count.
func (s *presence) reapSilent(ctx context.Context, limit provider.Time) error {
	return s.reapLeases(ctx, sqlSilent, []any{limit}, limit.Add(-silence), "")
}

// reapOwn ends the leases of owners of this process that its row no longer names.
func (s *presence) reapOwn(ctx context.Context, owners []string) error {
	return s.reapLeases(ctx, sqlOwn, []any{owners, s.process}, 0, s.process)
}

func (s *presence) reapLeases(ctx context.Context, gone string, args []any, old provider.Time, process string) error {
	fx := relational.NewEffects()
	fx.Freed = make(map[int64]struct{})
	b := &pgx.Batch{}
	b.Queue(sqlByIndex)
	b.Queue(s.db.names.sql(gone+sqlEndTurnsOf), args...).Query(func(rows pgx.Rows) error {
		var kind int64
		_, err := pgx.ForEachRow(rows, []any{&kind}, func() error {
			fx.Turns[kind] = struct{}{}
			return nil
		})
		return err
	})
	b.Queue(s.db.names.sql(gone+sqlEndTasksOf), args...).Query(func(rows pgx.Rows) error {
		var kind int64
		var late bool
		_, err := pgx.ForEachRow(rows, []any{&kind, &late}, func() error {
			fx.Tasks[kind], fx.Freed[kind] = struct{}{}, struct{}{}
			fx.Expired = fx.Expired || late
			return nil
		})
		return err
	})
	sessions := int64(0)
	b.Queue(s.db.names.sql(gone+sqlEndSessionsOf), args...).Query(func(rows pgx.Rows) error {
		rows.Close()
		sessions = rows.CommandTag().RowsAffected()
		return rows.Err()
	})
	b.Queue(s.db.names.sql(sqlRemoveProcesses), old, process)
	if err := s.db.reserve.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("ending leases of owners that are gone: %w", err)
	}
	if sessions > 0 { // for fetches that wait for tasks in them
		for kind := range s.kinds.get().ByTask {
			fx.Tasks[kind] = struct{}{}
		}
	}
	s.notifier.hint(&fx)
	return nil
}
