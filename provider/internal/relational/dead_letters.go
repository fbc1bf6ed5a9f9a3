package relational

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

const (
	deadLetterColumns = `SELECT id, task, key, instance_id, execution, event_id, kind, queue, name, reason, payload, at, timer, priority,
	fairness_key, session, limit_key FROM perdure.dead_letter WHERE `
	sqlListDeadLetters   = deadLetterColumns + `id > $1 ORDER BY id LIMIT $2`
	sqlListDeadLettersOf = deadLetterColumns + `key = $3 AND id > $1 ORDER BY id LIMIT $2`
	sqlLockDeadLetter    = deadLetterColumns + `id = $1{ FOR UPDATE|}`
	// Rows that others delete, too, are locked in one order.
	sqlDropDeadLetters = `DELETE FROM perdure.dead_letter WHERE id IN (SELECT id FROM perdure.dead_letter
	WHERE id {= ANY($1::bigint[])|IN (SELECT value FROM json_each($1))} ORDER BY id{ FOR UPDATE|}) RETURNING id`
)

func scanDeadLetter(r Row) DeadLetterRow {
	return DeadLetterRow{
		DeadLetter: provider.DeadLetter{
			ID: r.Int(0), Task: r.Bool(1), Key: r.UUID(2), InstanceID: r.Text(3), Execution: r.Int(4), EventID: r.Int(5),
			Kind: provider.MessageKind(r.Int(6)), Queue: r.Text(7), Name: r.Text(8), Reason: r.Text(9), Payload: r.Blob(10),
			At: timeIn(r, 11),
		},
		Timer: r.Bool(12), Priority: int(r.Int(13)), FairnessKey: r.Text(14), Session: r.Text(15), LimitKey: r.Text(16),
	}
}

// DeadLetters implements [provider.Redriver]. A dead letter whose instance is gone, has ended or runs another execution stays,
// and is not counted as done.
func (qs Queries) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	switch req.Action {
	case provider.DeadLettersList:
		return qs.listDeadLetters(ctx, &req)
	case provider.DeadLettersRedrive:
		for ids := range slices.Chunk(req.IDs, qs.batch) {
			m := &Member{Op: "dead letters"}
			part, err := Do(ctx, qs.enqueue, m, false, func(t *Tx, res *provider.DeadLettersResult) error { return t.redrive(ids, res) })
			if err != nil {
				return res, err
			}
			res.Done += part.Done
		}
		return res, nil
	default:
		return change(ctx, qs.storage, "dead letters", 0, func(q Queryer, res *provider.DeadLettersResult) error {
			return q.Query(dropDeadLetters(req.IDs, res))
		})
	}
}

func (qs Queries) listDeadLetters(ctx context.Context, req *provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	sql, args := sqlListDeadLetters, []any{req.Cursor, req.Max}
	if !req.Key.IsZero() {
		sql, args = sqlListDeadLettersOf, append(args, req.Key)
	}
	return read(ctx, qs.storage, Reading{Op: "dead letters"}, func(q Queryer, res *provider.DeadLettersResult) error {
		return q.Query(Query{SQL: sql, Args: args, Each: func(r Row) error {
			res.Letters = append(res.Letters, scanDeadLetter(r).DeadLetter)
			return nil
		}})
	})
}

// dropDeadLetters removes dead letters and counts them.
func dropDeadLetters(ids []int64, res *provider.DeadLettersResult) Query {
	return Query{SQL: sqlDropDeadLetters, Args: []any{ids}, Writes: true, Each: func(Row) error {
		res.Done++
		return nil
	}}
}

// redrive puts dead letters back to where they came from.
func (t *Tx) redrive(ids []int64, res *provider.DeadLettersResult) error {
	var back []int64
	for _, id := range ids {
		var row *DeadLetterRow
		err := t.Rows.Query(Query{SQL: sqlLockDeadLetter, Args: []any{id}, Each: func(r Row) error {
			l := scanDeadLetter(r)
			row = &l
			return nil
		}})
		if err != nil {
			return err
		}
		if row == nil || slices.Contains(back, id) {
			continue
		}
		done, err := t.Redrive(row)
		if err != nil {
			return err
		}
		if done {
			back = append(back, id)
		}
	}
	if len(back) == 0 {
		return nil
	}
	return t.Rows.Query(dropDeadLetters(back, res))
}
