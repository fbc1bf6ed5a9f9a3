-- A task kind has a class, for which there is no column: SQLite cannot widen the unique constraint of the table, and a
-- release before this one must find its kinds as they were. So perdure_task_kind.priority holds the priority plus 16 times the class;
-- to an older release such tasks are of a very low priority, and it runs them all the same.
-- Class 1: those that wait for their first lease with a rank that fairness gave them; their fetch_at is that rank, and time
-- does not hold them back. Class 2: those of a session, which a release before this one gives to anybody. Class 3: both.

-- Null means none or no, as in what an older release writes.
ALTER TABLE perdure_task ADD COLUMN start_by_at INTEGER;
ALTER TABLE perdure_task ADD COLUMN begun INTEGER; -- only kept where start_by_at is
ALTER TABLE perdure_task ADD COLUMN rank_at INTEGER; -- while the task waits for its first lease

CREATE INDEX perdure_task_fair ON perdure_task (fairness_key, kind, fetch_at) WHERE rank_at IS NOT NULL;
CREATE INDEX perdure_task_session ON perdure_task (session, kind, fetch_at) WHERE session IS NOT NULL;

-- Who holds a session: until the lease is over, or nothing was done in it until idle_until. Each use of it moves that to idle from then.
CREATE TABLE perdure_session (
  id          TEXT NOT NULL PRIMARY KEY,
  owner       TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  idle_until  INTEGER NOT NULL,
  idle        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX perdure_session_owner ON perdure_session (owner);
