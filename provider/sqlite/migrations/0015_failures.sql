-- What a failing turn says of its error, for lists. failed_at is the end of the instance to which it belongs: an older release that resets
-- an instance, and lets it fail again, leaves these columns as they are, and then failed_at is not ended_at. Null: nothing is known.
ALTER TABLE perdure_outcome ADD COLUMN failure_group TEXT;
ALTER TABLE perdure_outcome ADD COLUMN excerpt BLOB;
ALTER TABLE perdure_outcome ADD COLUMN failed_at INTEGER;

-- Only failed instances with a group are in these: one group, and the newest of all groups. They have the excerpt, so that nobody reads
-- past a large result to find it.
CREATE INDEX perdure_outcome_group ON perdure_outcome (failure_group, failed_at, key, excerpt) WHERE failure_group IS NOT NULL;
CREATE INDEX perdure_outcome_failed ON perdure_outcome (failed_at, key, failure_group, excerpt) WHERE failure_group IS NOT NULL;
