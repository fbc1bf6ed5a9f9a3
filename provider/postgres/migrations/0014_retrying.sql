-- Tasks that are tried again: their code reported a failure, or a lease was lost. While all goes well the index is empty. Each retry, claim
-- and renewal of such a task adds an entry, as to each index of the table, since it writes the row anew. Vacuum removes the old ones.
CREATE INDEX CONCURRENTLY task_retrying ON perdure.task (key, execution, event_id, kind) WHERE (attempt > 1 OR deliveries > 1);
