package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider/internal/relational"
)

// Kinds whose class is odd are ranked. A task that an older release has leased keeps its rank, and is fetched by another moment.
const sqlTurns = `SELECT w.queue, w.key,
	(SELECT coalesce(min(f.fetch_at), 0) FROM perdure.task_kind k CROSS JOIN LATERAL (SELECT t.fetch_at FROM perdure.task t
		WHERE t.kind = k.id AND t.fetch_at > 0 AND t.fetch_at = t.rank_at ORDER BY t.fetch_at LIMIT 1) f
		WHERE k.queue = w.queue AND k.priority / 16 % 2 = 1),
	(SELECT coalesce(max(l.fetch_at), 0) FROM perdure.task_kind k CROSS JOIN LATERAL (SELECT t.fetch_at FROM perdure.task t
		WHERE t.fairness_key = w.key AND t.kind = k.id AND t.rank_at > 0 AND t.fetch_at > 0 ORDER BY t.fetch_at DESC LIMIT 1) l
		WHERE k.queue = w.queue AND k.priority / 16 % 2 = 1)
	FROM unnest($1::text[], $2::text[]) w (queue, key)`

// queueTurns reads what new tasks come after.
func (u *unit) queueTurns(b *pgx.Batch, lanes []relational.Lane) {
	var queues, keys []string
	for _, of := range lanes {
		if _, known := u.turns[of]; !known {
			queues, keys = append(queues, of.Queue), append(keys, of.Key)
			u.turns[of] = relational.Turns{}
		}
	}
	b.Queue(u.p.names.sql(sqlTurns), queues, keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var of relational.Lane
			var waiting relational.Turns
			if err := rows.Scan(&of.Queue, &of.Key, &waiting.First, &waiting.Last); err != nil {
				return err
			}
			u.turns[of] = waiting
		}
		return rows.Err()
	})
}

// Turns implements [relational.Rows].
func (u *unit) Turns(of relational.Lane) (relational.Turns, error) {
	waiting, known := u.turns[of]
	if !known {
		return waiting, &needError{needs: relational.Needs{Lanes: []relational.Lane{of}}}
	}
	return waiting, nil
}

// takeTurn notes that a task was added to a lane, for the calls after it in the group.
func (u *unit) takeTurn(of relational.Lane, task *relational.Task) {
	before := u.turns[of]
	u.turns[of] = relational.Turns{First: before.First, Last: max(before.Last, task.Rank)}
	u.ops.later(func() { u.turns[of] = before })
}
