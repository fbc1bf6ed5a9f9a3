package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlAsk = `INSERT INTO perdure.ask (ask_id, key, asked_at, until, payload)
	SELECT $1, i.key, c.now, c.now + $4, $5 FROM (SELECT key FROM perdure.instance WHERE key = $2 AND NOT deleting
		UNION ALL SELECT key FROM perdure.instance WHERE $2 IS NULL AND id = $3 AND current AND NOT deleting) i,
	(SELECT ` + sqlNow + ` AS now) c
	ON CONFLICT (ask_id) DO UPDATE SET until = perdure.ask.until RETURNING key`
	sqlDropAsk  = `DELETE FROM perdure.ask WHERE ask_id = $1`
	sqlTakeAsks = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now), due AS MATERIALIZED (
		SELECT a.ask_id FROM perdure.ask a JOIN perdure.instance i ON i.key = ANY(ARRAY[a.key])
		WHERE NOT a.answered AND a.until > (SELECT now FROM clock) AND a.taken_until <= (SELECT now FROM clock)
		AND i.kind = ANY($1::bigint[]) ORDER BY a.asked_at LIMIT $2 FOR UPDATE OF a SKIP LOCKED),
	taken AS (UPDATE perdure.ask a SET taken_until = (SELECT now FROM clock) + $3 FROM due WHERE a.ask_id = due.ask_id RETURNING a.*)
	SELECT ` + instanceColumns + `, a.ask_id, a.payload, (SELECT now FROM clock) FROM taken a JOIN perdure.instance i ON i.key = ANY(ARRAY[a.key])
	JOIN perdure.kind k ON k.id = i.kind LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key]) ORDER BY a.asked_at`
	sqlNextAsk = `SELECT c.now, (SELECT min(a.taken_until) FROM perdure.ask a JOIN perdure.instance i ON i.key = ANY(ARRAY[a.key])
	WHERE NOT a.answered AND a.until > c.now AND i.kind = ANY($1::bigint[])) FROM (SELECT ` + sqlNow + ` AS now) c`
	sqlUntakeAsks = `UPDATE perdure.ask SET taken_until = 0 WHERE ask_id IN (SELECT a.ask_id FROM perdure.ask a
		WHERE a.ask_id = ANY($1::uuid[]) AND NOT a.answered FOR UPDATE SKIP LOCKED)`
	sqlAnswer   = `UPDATE perdure.ask SET answered = true, answer = $2 WHERE ask_id = $1 AND NOT answered AND until > ` + sqlNow + ` RETURNING ` + sqlNow
	sqlAnswerOf = `SELECT answer, ` + sqlNow + ` FROM perdure.ask WHERE ask_id = $1 AND answered`
)

// asks delivers questions to instances and returns their answers.
type asks struct {
	db   *database
	hub  *relational.Hub
	wake *wake
}

// ask stores a question and waits for its answer.
func (a *asks) ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	if err := req.Validate(); err != nil {
		return provider.AskResult{}, err
	}
	req.Wait = min(req.Wait, provider.MaxWait)
	ch := a.hub.Expect(req.AskID)
	defer a.hub.Unexpect(req.AskID)
	if err := a.db.door.Enter(ctx); err != nil {
		return provider.AskResult{}, err
	}
	defer a.db.door.Leave()
	bounded, cancel := a.db.bounded(ctx)
	defer cancel()
	var key provider.UUID
	b := a.db.byIndex()
	b.Queue(a.db.names.sql(sqlAsk), uuid(req.AskID), uuid(req.Key), req.ID, req.Wait.Microseconds(), req.Payload).
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
	a.wake.publish(&fx, nil)
	return a.awaitAnswer(ctx, &req, ch)
}

// awaitAnswer blocks until the question is answered. If that fails it removes the question.
func (a *asks) awaitAnswer(ctx context.Context, req *provider.AskRequest, ch <-chan relational.Answer) (provider.AskResult, error) {
	defer a.withdraw(ctx, req.AskID)
	deadline := time.NewTimer(req.Wait)
	defer deadline.Stop()
	recheck := time.NewTicker(fallback)
	defer recheck.Stop()
	for {
		elsewhere := a.hub.Elsewhere() // before the read, so that no answer is missed
		res, ok, err := a.answerOf(ctx, req.AskID)
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
			if res, ok, err := a.answerOf(ctx, req.AskID); err == nil && ok { // it came at the last moment
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

func (a *asks) answerOf(ctx context.Context, id provider.UUID) (res provider.AskResult, ok bool, err error) {
	bounded, cancel := a.db.bounded(ctx)
	defer cancel()
	err = a.db.pool.QueryRow(bounded, a.db.names.sql(sqlAnswerOf), uuid(id)).Scan(&res.Payload, &res.Now)
	switch {
	case err == nil:
		return res, true, nil
	case errors.Is(err, pgx.ErrNoRows):
		return res, false, nil
	case ctx.Err() != nil:
		return res, false, ctx.Err()
	}
	return res, false, failed("ask", err, provider.OutcomeNothing)
}

// withdraw removes a question even if the asker's context is done. If that fails, the janitor removes it.
func (a *asks) withdraw(ctx context.Context, id provider.UUID) {
	bounded, cancel := a.db.bounded(context.WithoutCancel(ctx))
	defer cancel()
	if _, err := a.db.pool.Exec(bounded, a.db.names.sql(sqlDropAsk), uuid(id)); err != nil {
		a.db.opts.Logger.Warn("perdure postgres: removing a question failed, it stays until it expires", "ask", id.String(), "error", err)
	}
}

// fetchAsks claims questions, or waits for some.
func (c *claims) fetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchAsksResult{}, err
	}
	f := &askFetch{c: c, req: req}
	call := &parked{op: "fetch asks", wants: func(s *signal) bool { return s.Asks }, look: f.look, undo: f.undo, due: f.due}
	err := c.park(ctx, call, req.Wait)
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

func (f *askFetch) look(ctx context.Context) (bool, error) {
	if err := f.c.kinds.refresh(ctx, f.c.db.pool); err != nil {
		return false, err
	}
	f.res = provider.FetchAsksResult{}
	b := f.c.begin(&f.res.Now)
	b.Queue(f.c.db.names.sql(sqlTakeAsks), f.kinds(), f.req.Max, f.req.Lease.Microseconds()).Query(func(rows pgx.Rows) error {
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
	now, at, err := f.c.db.nextDue(ctx, sqlNextAsk, f.kinds())
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
	if _, err := f.c.db.pool.Exec(ctx, f.c.db.names.sql(sqlUntakeAsks), uuids(ids)); err != nil {
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
	err := a.db.autocommit(ctx, "answer", func(ctx context.Context, pool *pgxpool.Pool) error {
		err := pool.QueryRow(ctx, a.db.names.sql(sqlAnswer), uuid(req.AskID), payload).Scan(&now)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("question %s: %w", req.AskID, provider.ErrNotFound)
		}
		return err
	})
	fx := relational.NewEffects()
	fx.Answers = []relational.Answer{{ID: req.AskID, Payload: payload, Now: now}}
	if err != nil {
		// This call or the one that it repeats may have stored the answer although it is not known.
		a.wake.hint(&fx)
		return err
	}
	a.wake.publish(&fx, nil)
	return nil
}
