package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlAsk = `INSERT INTO perdure.ask (ask_id, key, asked_at, until, payload, as_name, as_version, taken_until, home_until)
	SELECT $1, i.key, c.now, c.now + $4, $5, $6, $7, CASE WHEN $6 = '' THEN 0 ELSE 1::bigint << 62 END, c.now + $8
	FROM (SELECT key FROM perdure.instance WHERE key = $2 AND NOT deleting
		UNION ALL SELECT key FROM perdure.instance WHERE $2 IS NULL AND id = $3 AND current AND NOT deleting) i,
	(SELECT ` + sqlNow + ` AS now) c
	ON CONFLICT (ask_id) DO UPDATE SET until = perdure.ask.until RETURNING key`
	// A question with As has a taken_until far in the future, so that no release that does not know As takes it.
	askTaken = `CASE WHEN a.as_name = '' THEN a.taken_until ELSE a.as_taken_until END`
	// The parameters $1 to $5 are the kinds, the names and versions of the capabilities, the engine level and the owner.
	askFits = `(a.as_name = '' AND i.kind = ANY($1::bigint[]) OR a.as_name <> '' AND k.engine_level <= $4
		AND EXISTS (SELECT FROM unnest($2::text[], $3::text[]) c (name, version) WHERE c.name = a.as_name AND c.version = a.as_version))`
	askHome     = `CASE WHEN $5::text = '' OR i.sticky_owner = $5 THEN 0 ELSE LEAST(a.home_until, i.sticky_until) END`
	sqlDropAsk  = `DELETE FROM perdure.ask WHERE ask_id = $1`
	sqlTakeAsks = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now), due AS MATERIALIZED (
		SELECT a.ask_id FROM perdure.ask a JOIN perdure.instance i ON i.key = ANY(ARRAY[a.key]) JOIN perdure.kind k ON k.id = i.kind
		WHERE NOT a.answered AND a.until > (SELECT now FROM clock) AND ` + askTaken + ` <= (SELECT now FROM clock)
		AND ` + askHome + ` <= (SELECT now FROM clock)
		AND ` + askFits + ` ORDER BY a.asked_at LIMIT $6 FOR UPDATE OF a SKIP LOCKED),
	taken AS (UPDATE perdure.ask a SET as_taken_until = (SELECT now FROM clock) + $7,
		taken_until = CASE WHEN a.as_name = '' THEN (SELECT now FROM clock) + $7 ELSE a.taken_until END
		FROM due WHERE a.ask_id = due.ask_id RETURNING a.*)
	SELECT ` + instanceColumns + `, a.ask_id, a.payload, (SELECT now FROM clock) FROM taken a JOIN perdure.instance i ON i.key = ANY(ARRAY[a.key])
	JOIN perdure.kind k ON k.id = i.kind LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key]) ORDER BY a.asked_at`
	sqlNextAsk = `SELECT c.now, (SELECT min(GREATEST(` + askTaken + `, ` + askHome + `)) FROM perdure.ask a
	JOIN perdure.instance i ON i.key = ANY(ARRAY[a.key]) JOIN perdure.kind k ON k.id = i.kind
	WHERE NOT a.answered AND a.until > c.now AND ` + askFits + `) FROM (SELECT ` + sqlNow + ` AS now) c`
	sqlUntakeAsks = `UPDATE perdure.ask SET as_taken_until = 0, taken_until = CASE WHEN as_name = '' THEN 0 ELSE taken_until END
		WHERE ask_id IN (SELECT a.ask_id FROM perdure.ask a
		WHERE a.ask_id = ANY($1::uuid[]) AND NOT a.answered FOR UPDATE SKIP LOCKED)`
	sqlAnswer   = `UPDATE perdure.ask SET answered = true, answer = $2 WHERE ask_id = $1 AND NOT answered AND until > ` + sqlNow + ` RETURNING ` + sqlNow
	sqlAnswerOf = `SELECT COALESCE(a.answered, false), a.answer, i.key IS NULL, ` + sqlNow + ` FROM (SELECT $1::uuid AS ask_id, $2::uuid AS key) w
	LEFT JOIN perdure.ask a ON a.ask_id = w.ask_id LEFT JOIN perdure.instance i ON i.key = w.key`
)

// asks delivers questions to instances and returns their answers.
type asks struct {
	db       *database
	hub      *relational.Hub
	notifier *notifier
	polls    atomic.Int64 // at answers
}

// ask stores a question and waits for its answer.
func (a *asks) ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	if err := req.Validate(); err != nil {
		return provider.AskResult{}, err
	}
	req.Wait = min(req.Wait, provider.MaxWait)
	ch := a.hub.Expect(req.AskID)
	if ch == nil {
		return provider.AskResult{}, fmt.Errorf("question %s: %w", req.AskID, provider.ErrExists)
	}
	defer a.hub.Unexpect(req.AskID)
	if err := a.db.door.Enter(ctx); err != nil {
		return provider.AskResult{}, err
	}
	defer a.db.door.Leave()
	bounded, cancel := a.db.bounded(ctx)
	defer cancel()
	var key provider.UUID
	b := a.db.byIndex()
	b.Queue(a.db.names.sql(sqlAsk), uuid(req.AskID), uuid(req.Key), req.ID, req.Wait.Microseconds(), req.Payload,
		req.As.Name, req.As.CodeVersion, provider.AskHome.Microseconds()).
		QueryRow(func(r pgx.Row) error { return r.Scan(into(&key)) })
	err := a.db.pooled(bounded, b)
	if errors.Is(err, pgx.ErrNoRows) {
		return provider.AskResult{}, relational.NotFound(req.ID, req.Key)
	}
	if err != nil {
		a.withdraw(ctx, req.AskID) // nobody would read the answer
		if ctx.Err() != nil {
			return provider.AskResult{}, ctx.Err()
		}
		return provider.AskResult{}, failed("ask", err, outcomeOf(err))
	}
	fx := relational.NewEffects()
	fx.Asks = true
	a.notifier.publish(&fx, nil)
	defer a.hub.ExpectOf(req.AskID, key)()
	return a.awaitAnswer(ctx, &req, key, ch)
}

// awaitAnswer blocks until the question is answered. If that fails it removes the question.
func (a *asks) awaitAnswer(ctx context.Context, req *provider.AskRequest, key provider.UUID, ch <-chan relational.Answer) (provider.AskResult, error) {
	defer a.withdraw(ctx, req.AskID)
	deadline := time.NewTimer(req.Wait)
	defer deadline.Stop()
	recheck := time.NewTicker(fallback)
	defer recheck.Stop()
	for {
		elsewhere := a.hub.NextRecheck() // before the read, so that no answer is missed
		res, ok, err := a.answerOf(ctx, req.AskID, key)
		if err != nil || ok {
			return res, err
		}
		select {
		case got := <-ch:
			if got.Unread {
				continue
			}
			return provider.AskResult{Payload: got.Payload, Now: got.Now}, nil
		case <-elsewhere:
		case <-recheck.C:
		case <-deadline.C:
			if res, ok, err := a.answerOf(ctx, req.AskID, key); err == nil && ok { // it came at the last moment
				return res, nil
			}
			return provider.AskResult{}, fmt.Errorf("ask %s, after %v: %w", req.AskID, req.Wait, provider.ErrNoAnswer)
		case <-ctx.Done():
			return provider.AskResult{}, ctx.Err()
		case <-a.db.door.Closing:
			return provider.AskResult{}, provider.ErrClosed
		}
	}
}

// answerOf reads the answer. It returns ErrNotFound if the instance is gone.
func (a *asks) answerOf(ctx context.Context, id, key provider.UUID) (res provider.AskResult, ok bool, err error) {
	a.polls.Add(1)
	gone := false
	bounded, cancel := a.db.bounded(ctx)
	defer cancel()
	b := a.db.byIndex()
	b.Queue(a.db.names.sql(sqlAnswerOf), uuid(id), uuid(key)).QueryRow(func(r pgx.Row) error { return r.Scan(&ok, &res.Payload, &gone, &res.Now) })
	err = a.db.pooled(bounded, b)
	switch {
	case err == nil && gone && !ok:
		return res, false, relational.NotFound("", key)
	case err == nil:
		return res, ok, nil
	case ctx.Err() != nil:
		return res, false, ctx.Err()
	}
	return res, false, failed("ask", err, provider.OutcomeNothing)
}

// withdraw removes a question even if the asker's context is done. If that fails, the janitor removes the question when it has
// expired, and likewise if the server was still storing it: a caller that leaves does not wait for the server.
func (a *asks) withdraw(ctx context.Context, id provider.UUID) {
	bounded, cancel := a.db.bounded(context.WithoutCancel(ctx))
	defer cancel()
	b := a.db.byIndex()
	b.Queue(a.db.names.sql(sqlDropAsk), uuid(id))
	if err := a.db.pooled(bounded, b); err != nil {
		a.db.opts.Logger.Warn("perdure postgres: removing a question failed, it stays until it expires", "ask", id.String(), "error", err)
	}
}

// fetchAsks claims questions, or waits for some.
func (c *claims) fetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchAsksResult{}, err
	}
	f := &askFetch{c: c, req: req}
	call := &waitingFetch{op: "fetch asks", wants: func(s *signal) bool { return s.Asks }, poll: f.poll, undo: f.undo, due: f.due, notified: true}
	err := c.awaitWork(ctx, call, req.Wait)
	return f.res, err
}

// askFetch is one FetchAsks.
type askFetch struct {
	c   *claims
	req provider.FetchAsksRequest
	res provider.FetchAsksResult
}

func (f *askFetch) kinds() []int64 {
	turns := turnFetch{c: f.c, req: provider.FetchTurnsRequest{Capabilities: f.req.Capabilities, EngineLevel: f.req.EngineLevel}}
	return turns.kinds()
}

// filter returns the parameters of askFits and askHome.
func (f *askFetch) filter() []any {
	names, versions := make([]string, len(f.req.Capabilities)), make([]string, len(f.req.Capabilities))
	for i, c := range f.req.Capabilities {
		names[i], versions[i] = c.Name, c.CodeVersion
	}
	return []any{f.kinds(), names, versions, f.req.EngineLevel, f.req.Owner}
}

func (f *askFetch) poll(ctx context.Context) (bool, error) {
	if err := f.c.kinds.refresh(ctx, f.c.db.pool); err != nil {
		return false, err
	}
	f.res = provider.FetchAsksResult{}
	b := f.c.begin(&f.res.Now)
	b.Queue(f.c.db.names.sql(sqlTakeAsks), append(f.filter(), f.req.Max, f.req.Lease.Microseconds())...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ask provider.OpenAsk
			if err := scanInstance(rows, &ask.Instance, into(&ask.AskID), &ask.Payload, &f.res.Now); err != nil {
				return err
			}
			f.res.Asks = append(f.res.Asks, ask)
		}
		return rows.Err()
	})
	if err := f.c.db.pooled(ctx, b); err != nil {
		return false, err
	}
	list := make([]*provider.Instance, len(f.res.Asks))
	for i := range f.res.Asks {
		list[i] = &f.res.Asks[i].Instance
	}
	return len(list) > 0, f.c.db.readAttributes(ctx, f.c.db.pool, list)
}

func (f *askFetch) due(ctx context.Context) (now, next provider.Time, err error) {
	now, at, err := f.c.db.nextDue(ctx, sqlNextAsk, f.filter()...)
	f.res.Now = now
	if at == nil {
		return now, relational.Never, err
	}
	return now, *at, err
}

func (f *askFetch) undo() {
	ids := make([]provider.UUID, len(f.res.Asks))
	for i := range f.res.Asks {
		ids[i] = f.res.Asks[i].AskID
	}
	f.res = provider.FetchAsksResult{}
	ctx, cancel := f.c.db.bounded(f.c.group.ctx)
	defer cancel()
	b := f.c.db.byIndex()
	b.Queue(f.c.db.names.sql(sqlUntakeAsks), uuids(ids))
	if err := f.c.db.pooled(ctx, b); err != nil {
		f.c.db.opts.Logger.Warn("perdure postgres: releasing questions failed, they wait until their lease expires", "error", err)
	}
}

// answer stores the answer of a question.
func (a *asks) answer(ctx context.Context, req provider.AnswerRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	payload := slices.Clone(req.Payload)
	var now provider.Time
	err := a.db.autocommit(ctx, "answer", func(ctx context.Context, _ *pgxpool.Pool) error {
		b := a.db.byIndex()
		b.Queue(a.db.names.sql(sqlAnswer), uuid(req.AskID), payload).QueryRow(func(r pgx.Row) error { return r.Scan(&now) })
		err := a.db.pooled(ctx, b)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("question %s: %w", req.AskID, provider.ErrNotFound)
		}
		return err
	})
	fx := relational.NewEffects()
	fx.Answers = []relational.Answer{{ID: req.AskID, Payload: payload, Now: now}}
	if err != nil {
		// This call or the one that it repeats may have stored the answer although it is not known.
		a.notifier.hint(&fx)
		return err
	}
	a.notifier.publish(&fx, nil)
	return nil
}
