package postgres

import "testing"

// wrong counts what must not exist, by one query for each kind of fault.
var wrong = map[string]string{
	"inbox counters that are not the rows": `SELECT count(*) FROM perdure.instance i, LATERAL (SELECT count(*) AS n,
		coalesce(sum(octet_length(m.payload)), 0) AS bytes FROM perdure.inbox m WHERE m.key = i.key) m
		WHERE i.inbox_messages <> m.n OR i.inbox_bytes <> m.bytes`,
	// A reset makes an instance ready without a message.
	"ready times that are not those of the inbox": `SELECT count(*) FROM perdure.instance i, LATERAL (SELECT coalesce(min(m.visible_at), 0) AS first
		FROM perdure.inbox m WHERE m.key = i.key) m WHERE i.status < 3 AND NOT i.deleting AND i.ready_at <> m.first
		AND (i.execution = 1 OR m.first > 0 AND (i.ready_at = 0 OR i.ready_at > m.first))`,
	"fetch times that do not follow from the row": `SELECT count(*) FROM perdure.instance i WHERE i.fetch_at <> CASE
		WHEN i.status <> 1 OR i.deleting OR i.ready_at = 0 OR i.blocked AND i.retry_at = 0 THEN 0
		ELSE greatest(i.ready_at, i.not_before_at, CASE WHEN i.blocked THEN i.retry_at ELSE 0 END, i.lease_until) END`,
	"tokens without a lease":             `SELECT count(*) FROM perdure.instance WHERE (lease_token IS NULL) <> (lease_until = 0)`,
	"IDs with two current instances":     `SELECT count(*) FROM (SELECT id FROM perdure.instance WHERE current GROUP BY id HAVING count(*) > 1) x`,
	"message IDs beyond the next one":    `SELECT count(*) FROM perdure.inbox m JOIN perdure.instance i USING (key) WHERE m.id >= i.next_message`,
	"messages of an ended instance":      `SELECT count(*) FROM perdure.inbox m JOIN perdure.instance i USING (key) WHERE i.status >= 3`,
	"tasks of an execution that is over": `SELECT count(*) FROM perdure.task t JOIN perdure.instance i USING (key) WHERE i.status >= 3 OR t.execution <> i.execution`,
	"histories of another length": `SELECT count(*) FROM perdure.instance i WHERE i.history_length <> (SELECT coalesce(sum(h.events), 0)
		FROM perdure.history h WHERE h.key = i.key AND h.execution = i.execution)`,
	"histories with gaps": `SELECT count(*) FROM (SELECT first_id, lag(first_id + events, 1, 1::bigint) OVER (PARTITION BY key, execution ORDER BY first_id) AS expected
		FROM perdure.history) h WHERE h.first_id <> h.expected`,
	"inbox rows without an instance":   `SELECT count(*) FROM perdure.inbox m WHERE NOT EXISTS (SELECT 1 FROM perdure.instance i WHERE i.key = m.key)`,
	"tasks without an instance":        `SELECT count(*) FROM perdure.task m WHERE NOT EXISTS (SELECT 1 FROM perdure.instance i WHERE i.key = m.key)`,
	"histories without an instance":    `SELECT count(*) FROM perdure.history m WHERE NOT EXISTS (SELECT 1 FROM perdure.instance i WHERE i.key = m.key)`,
	"outcomes without an instance":     `SELECT count(*) FROM perdure.outcome m WHERE NOT EXISTS (SELECT 1 FROM perdure.instance i WHERE i.key = m.key)`,
	"dead letters without an instance": `SELECT count(*) FROM perdure.dead_letter m WHERE NOT EXISTS (SELECT 1 FROM perdure.instance i WHERE i.key = m.key)`,
	"children without a parent": `SELECT count(*) FROM perdure.instance c WHERE c.parent_key IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM perdure.instance i WHERE i.key = c.parent_key)`,
}

// checkConsistent looks for states that no order of calls may leave. Nobody may write meanwhile.
func checkConsistent(t *testing.T, p *Provider) {
	t.Helper()
	for what, sql := range wrong {
		if n := number(t, p, sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}
