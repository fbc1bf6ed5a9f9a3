package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlAsk = `INSERT INTO perdure_ask (ask_id, key, asked_at, until, payload, home_until, as_name, as_version, taken_until)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`
	sqlDropAsk  = `DELETE FROM perdure_ask WHERE ask_id = ?`
	sqlOpenAsks = `SELECT a.ask_id, a.key, i.kind, CASE WHEN a.as_name IS NULL THEN a.taken_until ELSE a.as_taken_until END,
		a.as_name, a.as_version, a.home_until, i.sticky_until, i.sticky_owner
		FROM perdure_ask a JOIN perdure_instance i ON i.key = a.key WHERE a.answered = 0 AND a.until > ? ORDER BY a.asked_at`
	sqlTakeAsk = `UPDATE perdure_ask SET taken_until = CASE WHEN as_name IS NULL THEN ?1 ELSE taken_until END, as_taken_until = ?1
		WHERE ask_id = ?2`
	sqlAskPayload = `SELECT payload FROM perdure_ask WHERE ask_id = ?`
	sqlAnswer     = `UPDATE perdure_ask SET answered = 1, answer = ? WHERE ask_id = ? AND answered = 0 AND until > ?`
	sqlIsOpenAsk  = `SELECT 1 FROM perdure_ask WHERE ask_id = ? AND answered = 0 AND until > ?`
	sqlAnswerOf   = `SELECT a.answered, a.answer, i.key IS NULL FROM (SELECT ?1 AS ask_id, ?2 AS key) w
		LEFT JOIN perdure_ask a ON a.ask_id = w.ask_id LEFT JOIN perdure_instance i ON i.key = w.key`

	// hiddenAsk is the taken_until of a question with As: a release that does not know As never takes it.
	hiddenAsk = int64(1) << 62
)

// asks are the calls that leave a question and that answer one.
type asks struct{ *handle }

// Ask implements [provider.Asker].
func (as *asks) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	if err := req.Validate(); err != nil {
		return provider.AskResult{}, err
	}
	req.Wait = min(req.Wait, provider.MaxWait)
	ch := as.store.hub.Expect(req.AskID)
	if ch == nil {
		return provider.AskResult{}, fmt.Errorf("question %s: %w", req.AskID, provider.ErrExists)
	}
	defer as.store.hub.Unexpect(req.AskID)
	key, err := write(ctx, as.handle, "ask", len(req.Payload), func(t *tx, key *provider.UUID) error {
		h, err := t.Find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if h == nil || h.Deleting {
			return relational.NotFound(req.ID, req.Key)
		}
		*key = h.Key
		var name, version any
		taken := int64(0)
		if req.As.Name != "" {
			name, version, taken = req.As.Name, req.As.CodeVersion, hiddenAsk
		}
		if _, err := t.exec(sqlAsk, req.AskID, h.Key, t.Now, t.Elapsed+micros(req.Wait), req.Payload, t.Elapsed+micros(provider.AskHome),
			name, version, taken); err != nil {
			return err
		}
		t.Effects.Asks = true
		return nil
	})
	if err != nil {
		if provider.OutcomeOf(err) == provider.OutcomeUnknown {
			as.withdrawAsk(req.AskID) // no caller would read the answer
		}
		return provider.AskResult{}, err
	}
	if err := as.door.Enter(ctx); err != nil {
		as.withdrawAsk(req.AskID)
		return provider.AskResult{}, err
	}
	defer as.door.Leave()
	defer as.store.hub.ExpectOf(req.AskID, key)()
	return as.awaitAnswer(ctx, &req, key, ch)
}

// awaitAnswer blocks until the question is answered. Otherwise it removes the question.
func (as *asks) awaitAnswer(ctx context.Context, req *provider.AskRequest, key provider.UUID, ch <-chan relational.Answer) (provider.AskResult, error) {
	deadline := time.NewTimer(req.Wait)
	defer deadline.Stop()
	for {
		recheck := as.store.hub.NextRecheck()
		res, ok, err := as.answerOf(ctx, req.AskID, key)
		if errors.Is(err, provider.ErrNotFound) {
			res, err = lastAnswer(ch, err)
		}
		if err != nil || ok {
			as.withdrawAsk(req.AskID)
			return res, err
		}
		select {
		case a := <-ch:
			if !a.Unread {
				return provider.AskResult{Payload: a.Payload, Now: a.Now}, nil
			}
		case <-recheck:
		case <-deadline.C:
			<-as.withdrawAsk(req.AskID).Done
			return lastAnswer(ch, fmt.Errorf("ask %s, after %v: %w", req.AskID, req.Wait, provider.ErrNoAnswer))
		case <-ctx.Done():
			as.withdrawAsk(req.AskID)
			return provider.AskResult{}, ctx.Err()
		case <-as.door.Closing:
			as.withdrawAsk(req.AskID)
			return provider.AskResult{}, provider.ErrClosed
		}
	}
}

// lastAnswer returns an answer that came in the last moment, or err.
func lastAnswer(ch <-chan relational.Answer, err error) (provider.AskResult, error) {
	select {
	case a := <-ch:
		if !a.Unread {
			return provider.AskResult{Payload: a.Payload, Now: a.Now}, nil
		}
	default:
	}
	return provider.AskResult{}, err
}

// answerOf reads an answer that another process stored. It returns ErrNotFound if the instance is gone.
func (as *asks) answerOf(ctx context.Context, id, key provider.UUID) (res provider.AskResult, ok bool, err error) {
	as.store.writer.answerReads.Add(1)
	gone := false
	err = as.read(ctx, "ask", func(c *conn) error {
		_, err := c.one(context.WithoutCancel(ctx), sqlAnswerOf, func(r *row) { ok, res.Payload, gone = r.bool(0), r.blob(1), r.bool(2) }, id, key)
		res.Now = as.store.clock.wall()
		return err
	})
	if err == nil && gone && !ok {
		err = relational.NotFound("", key)
	}
	return res, ok, err
}

// withdrawAsk queues the removal of a question.
func (as *asks) withdrawAsk(id provider.UUID) *relational.Member {
	return as.store.writer.submit("ask", func(t *tx) error { return t.do(sqlDropAsk, id) })
}

// FetchAsks implements [provider.Asker].
func (fs *fetches) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchAsksResult{}, err
	}
	f := &askFetch{log: fs.store.log, req: req, caps: make(map[provider.Capability]struct{}, len(req.Capabilities))}
	for _, c := range req.Capabilities {
		f.caps[c] = struct{}{}
	}
	call := &waitingFetch{
		op: "fetch asks", wants: func(t *tx) bool { return t.Effects.Asks }, find: f.find, take: f.take, undo: f.undo,
	}
	if err := fs.await(ctx, call, req.Wait); err != nil {
		return provider.FetchAsksResult{}, err
	}
	if f.res.Now == 0 {
		f.res.Now = fs.store.clock.wall()
	}
	return f.res, nil
}

// An askFetch is one waiting FetchAsks. The writer owns it until the call is done.
type askFetch struct {
	log  *slog.Logger
	req  provider.FetchAsksRequest
	caps map[provider.Capability]struct{}
	res  provider.FetchAsksResult
}

type askPlace struct{ id, key provider.UUID }

func (f *askFetch) places(t *tx, limit int) (list []askPlace, err error) {
	err = t.each(sqlOpenAsks, func(r *row) error {
		kind := t.kinds.ByTurn[r.int(2)]
		if name := r.text(4); name != "" {
			kind.Capability = provider.Capability{Name: name, CodeVersion: r.text(5)}
		}
		if _, ok := f.caps[kind.Capability]; !ok || kind.Level > f.req.EngineLevel {
			return nil
		}
		until := r.int(3)
		if f.req.Owner != "" && r.text(8) != f.req.Owner {
			until = max(until, min(r.int(6), r.int(7)))
		}
		if until > t.Elapsed {
			t.WakeElapsed(until)
			return nil
		}
		list = append(list, askPlace{r.uuid(0), r.uuid(1)})
		if len(list) == limit {
			return errStop
		}
		return nil
	}, t.Elapsed)
	return list, err
}

func (f *askFetch) find(t *tx) (bool, error) {
	list, err := f.places(t, 1)
	return len(list) > 0, err
}

func (f *askFetch) take(t *tx) (bool, error) {
	f.res = provider.FetchAsksResult{Now: t.Now}
	list, err := f.places(t, f.req.Max)
	if err != nil {
		return false, err
	}
	for _, place := range list {
		ask, err := f.claim(t, place)
		if errors.Is(err, errRow) { // it concerns this instance only, whose askers get no answer
			f.log.Error("perdure sqlite: a question cannot be read", "key", place.key.String(), "error", err)
			continue
		}
		if err != nil {
			return false, err
		}
		f.res.Asks = append(f.res.Asks, ask)
	}
	return len(f.res.Asks) > 0, nil
}

// claim takes one question.
func (f *askFetch) claim(t *tx, place askPlace) (ask provider.OpenAsk, err error) {
	if _, err := t.exec(sqlTakeAsk, t.Lease(f.req.Lease), place.id); err != nil {
		return ask, err
	}
	ask.AskID = place.id
	if _, err := t.one(sqlAskPayload, func(r *row) { ask.Payload = r.blob(0) }, place.id); err != nil {
		return ask, err
	}
	ask.Instance, err = t.Row(place.key)
	return ask, err
}

func (f *askFetch) undo(t *tx) error {
	for i := range f.res.Asks {
		if _, err := t.exec(sqlTakeAsk, 0, f.res.Asks[i].AskID); err != nil {
			return err
		}
	}
	t.Effects.Asks = true
	return nil
}

// Answer implements [provider.Asker].
func (as *asks) Answer(ctx context.Context, req provider.AnswerRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	_, err := write(ctx, as.handle, "answer", len(req.Payload), func(t *tx, _ *struct{}) error {
		open, err := t.integer(sqlIsOpenAsk, req.AskID, t.Elapsed)
		if err != nil {
			return err
		}
		if open == 0 {
			return fmt.Errorf("question %s: %w", req.AskID, provider.ErrNotFound)
		}
		if !as.store.hub.Expected(req.AskID) { // the asker is another process, which reads the answer
			_, err := t.exec(sqlAnswer, req.Payload, req.AskID, t.Elapsed)
			return err
		}
		payload := append([]byte(nil), req.Payload...)
		t.Effects.Answers = append(t.Effects.Answers, relational.Answer{ID: req.AskID, Payload: payload, Now: t.Now})
		_, err = t.exec(sqlDropAsk, req.AskID)
		return err
	})
	return err
}
