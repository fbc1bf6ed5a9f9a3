package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	deadLetterColumns = `id, task, key, instance_id, execution, event_id, kind, queue, name, reason, payload, at, timer, priority,
	fairness_key, session, limit_key`
	sqlListLetters    = `SELECT ` + deadLetterColumns + ` FROM perdure.dead_letter WHERE id > $1 ORDER BY id LIMIT $2`
	sqlListLettersOf  = `SELECT ` + deadLetterColumns + ` FROM perdure.dead_letter WHERE key = $3 AND id > $1 ORDER BY id LIMIT $2`
	sqlCountLettersOf = `SELECT count(*) FROM perdure.dead_letter WHERE key = $1`
	sqlTakeLetter     = `SELECT ` + deadLetterColumns + ` FROM perdure.dead_letter WHERE id = $1 FOR UPDATE`
	// Rows that others delete, too, are locked in one order.
	sqlDropLetters = `DELETE FROM perdure.dead_letter WHERE id IN (SELECT id FROM perdure.dead_letter
	WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE)`
)

func scanLetter(rows pgx.CollectableRow) (l relational.Letter, err error) {
	return l, rows.Scan(&l.ID, &l.Task, into(&l.Key), &l.InstanceID, &l.Execution, &l.EventID, &l.Kind, &l.Queue, &l.Name, &l.Reason,
		&l.Payload, &l.At, &l.Timer, &l.Priority, &l.FairnessKey, &l.Session, &l.LimitKey)
}

// letters lists, redrives and removes dead letters.
type letters struct {
	db    *database
	group *group
}

// handle carries out a request. A letter whose instance is gone, has ended or runs another execution stays, and is not
// counted as done.
func (l letters) handle(ctx context.Context, req provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	switch req.Action {
	case provider.DeadLettersList:
		return l.list(ctx, &req)
	case provider.DeadLettersRedrive:
		return l.redriveAll(ctx, req.IDs)
	default:
		err = l.db.autocommit(ctx, "dead letters", func(ctx context.Context, pool *pgxpool.Pool) error {
			tag, err := pool.Exec(ctx, l.db.names.sql(sqlDropLetters), req.IDs)
			res.Done = tag.RowsAffected()
			return err
		})
		return res, err
	}
}

func (l letters) redriveAll(ctx context.Context, ids []int64) (res provider.DeadLettersResult, err error) {
	for _, id := range ids {
		done, err := l.redrive(ctx, id)
		if err != nil {
			return res, err
		}
		if done {
			res.Done++
		}
	}
	return res, nil
}

func (l letters) list(ctx context.Context, req *provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	sql, args := sqlListLetters, []any{req.Cursor, req.Max}
	if !req.Key.IsZero() {
		sql, args = sqlListLettersOf, append(args, uuid(req.Key))
	}
	err = l.db.read(ctx, "dead letters", func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, l.db.names.sql(sql), args...)
		if err != nil {
			return err
		}
		res.Letters, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (provider.DeadLetter, error) {
			row, err := scanLetter(r)
			return row.DeadLetter, err
		})
		return err
	})
	return res, err
}

// redrive puts one letter back to where it came from.
func (l letters) redrive(ctx context.Context, id int64) (bool, error) {
	return write(ctx, l.group, "dead letters", 0, relational.Needs{}, func(t *relational.Tx, done *bool) error {
		u := unitOf(t)
		rows, err := u.query(sqlTakeLetter, id)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, scanLetter)
		if err != nil || len(list) == 0 {
			return err
		}
		back, err := t.Redrive(&list[0])
		if err != nil || !back {
			return err
		}
		rows, err = u.query(sqlDropLetters, []int64{id})
		if err != nil {
			return err
		}
		rows.Close()
		*done = rows.CommandTag().RowsAffected() == 1
		t.Changes++
		return rows.Err()
	})
}
