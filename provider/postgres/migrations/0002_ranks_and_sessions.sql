-- A task kind has a class: task_kind.priority holds the priority plus 16 times the class, as in SQLite, where no column could be
-- added to its unique constraint. To a release before this one such tasks are of a very low priority, and it runs them all the same.
-- Class 1: those that wait for their first lease with a rank that fairness gave them; their fetch_at is that rank, and time
-- does not hold them back. Class 2: those of a session, which a release before this one gives to anybody. Class 3: both.

-- Constants as defaults do not rewrite the table. Statements beside an index that is built concurrently may be repeated.
ALTER TABLE perdure.task ADD COLUMN IF NOT EXISTS start_by_at bigint NOT NULL DEFAULT 0;
ALTER TABLE perdure.task ADD COLUMN IF NOT EXISTS begun boolean NOT NULL DEFAULT false; -- only of use where start_by_at is set
ALTER TABLE perdure.task ADD COLUMN IF NOT EXISTS rank_at bigint NOT NULL DEFAULT 0; -- while the task waits for its first lease

CREATE INDEX CONCURRENTLY task_fair ON perdure.task (fairness_key, kind, fetch_at) WHERE rank_at > 0;
CREATE INDEX CONCURRENTLY task_session ON perdure.task (session, kind, fetch_at) WHERE session <> '';

-- Who holds a session: until the lease is over, or nothing was done in it until idle_until. Each use of it moves that to idle from then.
CREATE TABLE IF NOT EXISTS perdure.session (
  id          text COLLATE "C" NOT NULL PRIMARY KEY,
  owner       text COLLATE "C" NOT NULL,
  lease_until bigint NOT NULL,
  idle_until  bigint NOT NULL,
  idle        bigint NOT NULL
);

CREATE INDEX IF NOT EXISTS session_owner ON perdure.session (owner);

-- Leased tasks of suspended instances, whose fetch_at does not tell when the lease is over. Very few are ever in here.
CREATE INDEX CONCURRENTLY task_held ON perdure.task (kind) WHERE fetch_at = 0 AND state = 2;
