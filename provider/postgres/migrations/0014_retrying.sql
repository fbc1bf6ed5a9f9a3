-- Tasks that are tried again: their code reported a failure, or a lease was lost. While all goes well the index is empty. It has no time
-- that a retry changes: a task enters it once, and leaves it when it ends.
CREATE INDEX CONCURRENTLY task_retrying ON perdure.task (key, execution, event_id, kind) WHERE (attempt > 1 OR deliveries > 1);
