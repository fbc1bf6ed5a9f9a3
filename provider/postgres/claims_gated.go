package postgres

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlGateLock = `SELECT pg_advisory_xact_lock($1)`
	// The transaction decides everything for one moment, which is after it got its locks.
	sqlGateClock   = `SELECT set_config('perdure_gate.now', (` + sqlNow + `)::text, true)::bigint` + sqlNewest
	sqlGateNow     = `current_setting('perdure_gate.now')::bigint`
	sqlHeldAtGate  = sqlHeldFrom + sqlGateNow + sqlHeldOr + sqlGateNow + sqlHeldEnd
	sqlHeldBy      = `SELECT count(*) FROM perdure.session s WHERE s.owner = $1 AND ` + sqlHeldAtGate
	sqlCallExtends = `WITH w AS (SELECT s.id FROM perdure.session s WHERE s.owner = $1 AND ` + sqlHeldAtGate + ` ORDER BY s.id FOR UPDATE)
	UPDATE perdure.session s SET lease_until = ` + sqlGateNow + ` + $2 FROM w WHERE s.id = w.id AND s.owner = $1`
	// How many tasks of each limited queue are leased. No lease is longer than a day. Tasks of suspended instances are
	// counted by a query of their own.
	sqlLeased = `WITH clock AS MATERIALIZED (SELECT ` + sqlGateNow + ` AS now)
	SELECT k.queue, count(*) FROM unnest($1::bigint[], $2::text[]) k (id, queue) CROSS JOIN LATERAL (
		SELECT 1 FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at > 0
			AND t.fetch_at > (SELECT now FROM clock) AND t.fetch_at <= (SELECT now FROM clock) + 86400000000 AND t.state = 2 AND t.lease_until > (SELECT now FROM clock)
		UNION ALL SELECT 1 FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at = 0 AND t.state = 2
			AND t.lease_until > (SELECT now FROM clock)) l GROUP BY k.queue`
	// The fetchable tasks, in order, with the current sessions. It leaves out tasks in other owners' sessions, and in
	// sessions beyond the maximum.
	sqlCandidates = `WITH clock AS MATERIALIZED (SELECT ` + sqlGateNow + ` AS now),
	late AS MATERIALIZED (SELECT t.key, t.execution, t.event_id, true AS late, t.expire_at AS at, t.scheduled_at, t.kind AS id,
		t.kind AS plain, t.session
		FROM perdure.task t WHERE $4 AND t.expire_at > 0 AND t.expire_at <= (SELECT now FROM clock) ORDER BY t.expire_at LIMIT $5),
	early AS MATERIALIZED (SELECT d.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) k (id, bonus, plain) CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id, false AS late, t.fetch_at - k.bonus AS at, t.scheduled_at, k.id, k.plain, t.session
		FROM perdure.task t LEFT JOIN perdure.session s ON t.session <> '' AND s.id = t.session WHERE t.kind = k.id AND t.fetch_at > 0
		AND t.fetch_at <= CASE WHEN k.id = k.plain THEN (SELECT now FROM clock) ELSE 9223372036854775807 END
		AND (t.fetch_at <= (SELECT now FROM clock) OR t.fetch_at = t.rank_at) AND (t.expire_at = 0 OR t.expire_at > (SELECT now FROM clock))
		AND (t.session = '' OR s.owner = $6 OR (s.id IS NULL OR least(s.lease_until, s.idle_until) <= (SELECT now FROM clock))
			AND (` + sqlHeldBy6 + `) < $7)
		ORDER BY t.fetch_at, t.scheduled_at, t.event_id LIMIT $8) d)
	SELECT u.key, u.execution, u.event_id, u.late, u.at, u.id, u.plain, u.session, coalesce(s.owner, ''), coalesce(` + sqlHeldAtGate + `, false)
	FROM (SELECT * FROM late UNION ALL SELECT * FROM early) u LEFT JOIN perdure.session s ON u.session <> '' AND s.id = u.session
	ORDER BY u.late DESC, u.at, u.scheduled_at, u.event_id, u.key, u.execution`
	sqlHeldBy6 = `SELECT count(*) FROM perdure.session s WHERE s.owner = $6 AND ` + sqlHeldAtGate
	// An expired session may have been extended since it was read.
	sqlClaimSessions = `INSERT INTO perdure.session AS s (id, owner, lease_until, idle_until, idle, key)
	SELECT w.id, $2, ` + sqlGateNow + ` + $3, ` + sqlGateNow + ` + $4, $4, w.key FROM unnest($1::text[], $5::uuid[]) w (id, key) ORDER BY w.id
	ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until, idle_until = excluded.idle_until,
	idle = excluded.idle, key = excluded.key WHERE NOT ` + sqlHeldAtGate
	// A session that several instances use ends with none of them.
	sqlUseOwnSessions = `WITH w AS (SELECT s.id FROM perdure.session s WHERE s.id = ANY($1::text[]) AND s.owner = $2 AND ` + sqlHeldAtGate + `
	ORDER BY s.id FOR UPDATE) UPDATE perdure.session s SET idle_until = ` + sqlGateNow + ` + s.idle,
	key = CASE WHEN NOT EXISTS (SELECT 1 FROM unnest($1::text[], $3::uuid[]) u (id, key) WHERE u.id = s.id AND u.key <> s.key) THEN s.key END
	FROM w WHERE s.id = w.id`
	// The chosen tasks, unless they or their sessions were taken meanwhile.
	sqlTakeChosen = `WITH clock AS MATERIALIZED (SELECT ` + sqlGateNow + ` AS now),
	due AS MATERIALIZED (SELECT t.key, t.execution, t.event_id, w.late, w.at, w.kind
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $6::boolean[], $8::bigint[], $9::bigint[]) w (key, execution, event_id, late, at, kind)
		JOIN perdure.task t ON ` + sqlEachTask + `
		WHERE w.late AND t.expire_at > 0 AND t.expire_at <= (SELECT now FROM clock)
		OR NOT w.late AND t.fetch_at > 0 AND (t.fetch_at <= (SELECT now FROM clock) OR t.fetch_at = t.rank_at)
			AND (t.expire_at = 0 OR t.expire_at > (SELECT now FROM clock))
			AND (t.session = '' OR EXISTS (SELECT 1 FROM perdure.session s WHERE s.id = t.session AND s.owner = $5))
		FOR UPDATE OF t SKIP LOCKED),
	` + sqlForgetLate + sqlTakeDue
	// No task that was due at $3 could be taken. The next times are the ends of leases and sessions, and when tasks
	// become due.
	sqlNextGated = `SELECT ` + sqlNow + `, least((SELECT min(n.fetch_at) FROM unnest($1::bigint[]) k (id) CROSS JOIN LATERAL (
		SELECT t.fetch_at FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at > 0 AND t.fetch_at > $3 ORDER BY t.fetch_at LIMIT 1) n),
		(SELECT min(t.lease_until) FROM perdure.task t WHERE t.kind = ANY($1::bigint[]) AND t.fetch_at = 0 AND t.state = 2 AND t.lease_until > $3),
		CASE WHEN $2 THEN (SELECT t.expire_at FROM perdure.task t WHERE t.expire_at > 0 ORDER BY t.expire_at LIMIT 1) END,
		CASE WHEN $4 THEN (SELECT min(least(s.lease_until, s.idle_until)) FROM perdure.session s WHERE least(s.lease_until, s.idle_until) > $3) END)`
)

// gatePage is how many tasks of each kind a gate reads, in addition to those that the fetch may take.
const gatePage = 100

// gatedFetch is a FetchTasks that limits queues or claims sessions. Advisory locks serialise the claims that affect
// each other, because the snapshot of a single statement is older than its locks.
type gatedFetch struct {
	*taskFetch

	newest int64         // the highest number of a kind that the last poll saw
	called bool          // the sessions of the owner were extended
	seen   provider.Time // when the last poll began
	retry  bool          // others held what it chose
}

// wants reports whether there are tasks, or whether something ended that the fetch may wait for.
func (f *gatedFetch) wants(s *signal) bool {
	if f.taskFetch.wants(s) {
		return true
	}
	kinds := f.c.kinds.get()
	return slices.ContainsFunc(s.Freed, func(id int64) bool {
		kind, known := kinds.ByTask[id]
		return !known || relational.WaitsFor(&f.req, kind)
	})
}

func (f *gatedFetch) poll(ctx context.Context) (bool, error) {
	f.retry = false
	if err := f.c.kinds.refresh(ctx, f.c.db.pool); err != nil {
		return false, err
	}
	if !relational.GatedNow(&f.req, f.c.kinds.get()) {
		return f.taskFetch.poll(ctx)
	}
	if err := f.announce(ctx); err != nil {
		return false, err
	}
	found, ignorant, err := f.pollLocked(ctx)
	if !ignorant {
		return found, err
	}
	if err := f.c.kinds.refresh(ctx, f.c.db.pool); err != nil {
		return false, err
	}
	found, _, err = f.pollLocked(ctx)
	return found, err
}

// pollLocked polls under the locks. It counts and chooses by the kinds that it knows, so it takes nothing on its first try if it
// is ignorant of some.
func (f *gatedFetch) pollLocked(ctx context.Context) (found, ignorant bool, err error) {
	before := f.c.kinds.get()
	conn, err := f.c.db.pool.Acquire(ctx)
	if err != nil {
		return false, false, err
	}
	defer conn.Release()
	t := &txn{db: f.c.db, ctx: ctx, conn: conn.Conn()}
	defer t.rollback()
	f.res = provider.FetchTasksResult{}
	g, err := f.open(t)
	if sqlState(err) == stateLockTimeout {
		f.retry = true
		t.rollback()
		return false, false, conn.QueryRow(ctx, `SELECT `+sqlNow).Scan(&f.res.Now)
	}
	if err != nil {
		return false, false, err
	}
	if f.newest > before.NewestTask {
		return false, true, nil
	}
	f.called = true
	chosen := g.choose(f.req.Max)
	if len(chosen) > 0 {
		if err := f.c.presence.show(ctx, f.req.Owner, max(f.req.Lease, f.req.Sessions.Lease)); err != nil {
			return false, false, err
		}
	}
	if err := f.close(t, g, chosen); err != nil {
		return false, false, err
	}
	f.retry = len(chosen) > len(f.res.Tasks)
	return len(f.res.Tasks) > 0, false, f.name(ctx)
}

// announce tells all processes which queues are limited, so that they notify of the ends of leases there.
func (f *gatedFetch) announce(ctx context.Context) error {
	for _, q := range f.req.Queues {
		kind, known := f.c.kinds.get().Limit(q.Queue)
		if q.MaxLeased == 0 || known {
			continue
		}
		if err := f.c.kinds.load(ctx, f.c.db.pool, &needError{tasks: []relational.TaskKind{kind}}); err != nil {
			return err
		}
		fx := relational.NewEffects()
		for id, stored := range f.c.kinds.get().ByTask {
			if stored == kind {
				fx.Tasks[id] = struct{}{} // a process that does not know the kind reads the kinds
			}
		}
		f.c.notifier.hint(&fx)
	}
	return nil
}

// open begins the transaction and reads what the gate decides by, in one round trip.
func (f *gatedFetch) open(t *txn) (*gate, error) {
	g := newGate(&f.req, f.c.kinds.get())
	b := &pgx.Batch{}
	t.wait = true
	t.queueBegin(b)
	for _, key := range f.locks() {
		b.Queue(sqlGateLock, key)
	}
	b.Queue(f.c.db.names.sql(sqlGateClock)).QueryRow(func(r pgx.Row) error {
		var turn int64
		err := r.Scan(&f.seen, &turn, &f.newest)
		f.c.kinds.observe(turn, f.newest)
		return err
	})
	owner, claim, sql := f.req.Owner, f.req.Sessions, f.c.db.names.sql
	if claim.Max > 0 && !f.called {
		b.Queue(sql(sqlCallExtends), owner, claim.Lease.Microseconds())
	}
	if claim.Max > 0 {
		b.Queue(sql(sqlHeldBy), owner).QueryRow(func(r pgx.Row) error { return r.Scan(&g.held) })
	}
	if len(g.room) > 0 {
		ids, queues := g.kinds.Unblocking(&f.req)
		b.Queue(sql(sqlLeased), ids, queues).Query(func(rows pgx.Rows) error {
			var queue string
			var n int
			_, err := pgx.ForEachRow(rows, []any{&queue, &n}, func() error {
				if _, limited := g.room[queue]; limited {
					g.room[queue] -= n
				}
				return nil
			})
			return err
		})
	}
	k := f.taskFetch.kinds(f.req.Sessions.Max > 0)
	g.page = f.req.Max + gatePage
	b.Queue(sql(sqlCandidates), k.ids, k.bonuses, k.plain, f.req.Expired, f.req.Max, owner, claim.Max, g.page).Query(g.read)
	return g, t.exchange(b)
}

// locks returns the keys of the advisory locks that the fetch takes, in order.
func (f *gatedFetch) locks() (keys []int64) {
	key := func(what, name string) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(f.c.db.opts.Schema + "\x00" + what + "\x00" + name)) // never fails
		keys = append(keys, int64(h.Sum64()))
	}
	for queue := range maps.Keys(relational.Limits(&f.req)) {
		key("queue", queue)
	}
	if f.req.Sessions.Max > 0 {
		key("sessions", "")
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// close takes the chosen tasks and commits.
func (f *gatedFetch) close(t *txn, g *gate, chosen []candidate) error {
	b, sql, owner, claim := &pgx.Batch{}, f.c.db.names.sql, f.req.Owner, f.req.Sessions
	f.res.Sessions = g.held
	if len(chosen) > 0 {
		if len(g.claimed) > 0 {
			b.Queue(sql(sqlClaimSessions), g.claimed, owner, claim.Lease.Microseconds(), claim.Idle.Microseconds(), g.makers)
		}
		if len(g.used) > 0 {
			b.Queue(sql(sqlUseOwnSessions), g.used, owner, uuids(g.users))
		}
		b.Queue(sql(sqlTakeChosen), takeArgs(&f.req, chosen)...).Query(f.collect)
		if claim.Max > 0 {
			b.Queue(sql(sqlHeldBy), owner).QueryRow(func(r pgx.Row) error { return r.Scan(&f.res.Sessions) })
		}
	}
	b.Queue("COMMIT")
	if err := t.exchange(b); err != nil {
		f.res = provider.FetchTasksResult{}
		return err
	}
	if len(f.res.Tasks) == 0 {
		f.res.Now = f.seen
		return nil
	}
	fx := relational.NewEffects() // other fetches may wait for the leases that end here
	fx.ElapsedDue = int64(f.res.Now.Add(f.req.Lease))
	if len(g.claimed) > 0 {
		fx.ElapsedDue = min(fx.ElapsedDue, int64(f.res.Now.Add(min(claim.Lease, claim.Idle))))
	}
	f.c.notifier.hint(&fx)
	return nil
}

// due returns when the fetch may find work without a commit.
func (f *gatedFetch) due(ctx context.Context) (now, next provider.Time, err error) {
	if !relational.GatedNow(&f.req, f.c.kinds.get()) {
		return f.taskFetch.due(ctx)
	}
	ids, _ := f.c.kinds.get().Unblocking(&f.req)
	ids = append(ids, f.taskFetch.kinds(f.req.Sessions.Max > 0).ids...)
	now, at, err := f.c.db.nextDue(ctx, sqlNextGated, ids, f.req.Expired, f.seen, f.req.Sessions.Max > 0)
	f.res.Now = now
	switch {
	case f.retry:
		return now, now, err
	case at == nil:
		return now, relational.Never, err
	default:
		return now, *at, err
	}
}

// gate chooses the tasks of a fetch, in order, under the limits of queues and sessions.
type gate struct {
	req     *provider.FetchTasksRequest
	kinds   *relational.Kinds
	room    map[string]int // how many more tasks of a limited queue may be leased
	held    int            // sessions of the owner, including those that it claims
	page    int            // the most tasks of a kind that were read
	list    []candidate    // in order
	mine    map[string]bool
	claimed []string        // sessions that the owner claims
	makers  []pgtype.UUID   // the instances that these end with; null: none
	used    []string        // held sessions of chosen tasks
	users   []provider.UUID // the instances of these tasks
}

// candidate is a task that can be fetched if the gate admits it.
type candidate struct {
	provider.TaskRef

	late    bool
	at      int64 // its rank
	kind    int64
	plain   int64 // its kind once it is leased
	session string
	owner   string // of the session
	held    bool   // owner holds the session
}

func newGate(req *provider.FetchTasksRequest, kinds *relational.Kinds) *gate {
	return &gate{req: req, kinds: kinds, room: relational.Limits(req), mine: make(map[string]bool)}
}

func (g *gate) read(rows pgx.Rows) error {
	for rows.Next() {
		var c candidate
		err := rows.Scan(into(&c.Key), &c.Execution, &c.EventID, &c.late, &c.at, &c.kind, &c.plain, &c.session, &c.owner, &c.held)
		if err != nil {
			return err
		}
		if n := len(g.list); n == 0 || g.list[n-1].TaskRef != c.TaskRef { // a request may name a queue twice
			g.list = append(g.list, c)
		}
	}
	return rows.Err()
}

// choose returns the tasks to take. It stops where a kind may have more tasks than were read, because they would come
// next.
func (g *gate) choose(limit int) (list []candidate) {
	read := make(map[int64]int)
	for i := range g.list {
		c := &g.list[i]
		if len(list) == limit {
			break
		}
		if g.admits(c) {
			list = append(list, *c)
		}
		if read[c.kind]++; !c.late && read[c.kind] == g.page {
			break
		}
	}
	return list
}

// admits reports whether the fetch may take the task, and counts it if so.
func (g *gate) admits(c *candidate) bool {
	queue := g.kinds.ByTask[c.kind].Queue
	room, limited := g.room[queue]
	if !c.late && (limited && room <= 0 || !g.claims(c)) {
		return false
	}
	if limited {
		g.room[queue]--
	}
	if c.held {
		g.used, g.users = append(g.used, c.session), append(g.users, c.Key)
	}
	return true
}

// claims reports whether the owner holds the session of a task or claims it.
func (g *gate) claims(c *candidate) bool {
	switch {
	case c.session == "":
		return true
	case g.mine[c.session]:
		if maker := &g.makers[slices.Index(g.claimed, c.session)]; *maker != uuid(c.Key) {
			*maker = pgtype.UUID{}
		}
		return true
	case g.req.Sessions.Max == 0:
		return false
	case c.held:
		return c.owner == g.req.Owner
	case g.held >= g.req.Sessions.Max:
		return false
	}
	g.held++
	g.mine[c.session] = true
	g.claimed, g.makers = append(g.claimed, c.session), append(g.makers, uuid(c.Key))
	return true
}

// takeArgs returns the parameters of sqlTakeChosen.
func takeArgs(req *provider.FetchTasksRequest, chosen []candidate) []any {
	c := &columns{}
	column(c, chosen, func(t *candidate) pgtype.UUID { return uuid(t.Key) })
	column(c, chosen, func(t *candidate) int64 { return t.Execution })
	column(c, chosen, func(t *candidate) int64 { return t.EventID })
	c.args = append(c.args, uuid(req.Token), req.Owner)
	column(c, chosen, func(t *candidate) bool { return t.late })
	c.args = append(c.args, req.Lease.Microseconds())
	column(c, chosen, func(t *candidate) int64 { return t.at })
	column(c, chosen, func(t *candidate) int64 { return t.plain })
	return c.args
}
