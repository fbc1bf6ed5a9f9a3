-- Tasks of one rank are fetched in the order of their times, then of their event IDs. The index without these two leaves them in the
-- order of their places in the table, and vacuum gives free places to new rows. The new index serves every statement of an older
-- release that the old one served.
CREATE INDEX CONCURRENTLY task_order ON perdure.task (kind, fetch_at, scheduled_at, event_id) WHERE fetch_at > 0;
DROP INDEX CONCURRENTLY perdure.task_fetch;
