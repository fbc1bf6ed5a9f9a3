package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	deadLetterColumns = `id, task, key, instance_id, execution, event_id, kind, queue, name, reason, payload, at, timer, priority,
		fairness_key, session, limit_key`
	sqlListLetters    = `SELECT ` + deadLetterColumns + ` FROM perdure_dead_letter WHERE id > ? ORDER BY id LIMIT ?`
	sqlListLettersOf  = `SELECT ` + deadLetterColumns + ` FROM perdure_dead_letter WHERE key = ? AND id > ? ORDER BY id LIMIT ?`
	sqlCountLettersOf = `SELECT count(*) FROM perdure_dead_letter WHERE key = ?`
	sqlLetter         = `SELECT ` + deadLetterColumns + ` FROM perdure_dead_letter WHERE id = ?`
	sqlDropLetter     = `DELETE FROM perdure_dead_letter WHERE id = ?`
)

// DeadLetters implements [provider.Redriver]. An item stays, and is not counted as done, if its instance cannot take it back
// because the instance is gone, has ended or runs another execution.
func (cl *cleaner) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	if err := req.Validate(); err != nil {
		return provider.DeadLettersResult{}, err
	}
	if req.Action == provider.DeadLettersList {
		return cl.listLetters(ctx, &req)
	}
	return write(ctx, cl.handle, "dead letters", 0, func(t *tx, res *provider.DeadLettersResult) error {
		for _, id := range req.IDs {
			if req.Action == provider.DeadLettersRedrive {
				back, err := t.redrive(id)
				if err != nil {
					return err
				}
				if !back {
					continue
				}
			}
			n, err := t.exec(sqlDropLetter, id)
			if err != nil {
				return err
			}
			res.Done += n
		}
		return nil
	})
}

func (cl *cleaner) listLetters(ctx context.Context, req *provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	sql, args := sqlListLetters, []any{req.Cursor, req.Max}
	if !req.Key.IsZero() {
		sql, args = sqlListLettersOf, append([]any{req.Key}, args...)
	}
	err = cl.read(ctx, "dead letters", func(c *conn) error {
		return c.each(context.WithoutCancel(ctx), sql, func(r *row) error {
			letter := scanLetter(r)
			res.Letters = append(res.Letters, letter.DeadLetter)
			return nil
		}, args...)
	})
	return res, err
}

func scanLetter(r *row) relational.Letter {
	return relational.Letter{
		DeadLetter: letterOf(r), Timer: r.bool(12), Priority: int(r.int(13)),
		FairnessKey: r.text(14), Session: r.text(15), LimitKey: r.text(16),
	}
}

func letterOf(r *row) provider.DeadLetter {
	return provider.DeadLetter{
		ID: r.int(0), Task: r.bool(1), Key: r.uuid(2), InstanceID: r.text(3), Execution: r.int(4), EventID: r.int(5),
		Kind: provider.MessageKind(r.int(6)), Queue: r.text(7), Name: r.text(8), Reason: r.text(9), Payload: r.blob(10),
		At: r.time(11),
	}
}

// redrive puts a letter back where it came from. It returns false if that no longer exists.
func (t *tx) redrive(id int64) (bool, error) {
	var l relational.Letter
	found, err := t.one(sqlLetter, func(r *row) { l = scanLetter(r) }, id)
	if err != nil || !found {
		return false, err
	}
	return t.Redrive(&l)
}
