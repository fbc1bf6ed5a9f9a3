-- Tasks of one rank are fetched in the order of their times, then of their event IDs. The index without these two leaves them in the
-- order of their keys. The name stays, because the statements of an older release name the index. They find in the new one
-- everything that they found in the old one.
DROP INDEX perdure_task_fetch;
CREATE INDEX perdure_task_fetch ON perdure_task (kind, fetch_at, scheduled_at, event_id) WHERE fetch_at IS NOT NULL;
