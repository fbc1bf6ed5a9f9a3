-- What a failing turn says of its error, for lists. failed_at is the end of the instance to which it belongs: an older release that resets
-- an instance, and lets it fail again, leaves these columns as they are, and then failed_at is not ended_at. Null: nothing is known.
ALTER TABLE perdure.outcome ADD COLUMN IF NOT EXISTS failure_group text;
ALTER TABLE perdure.outcome ADD COLUMN IF NOT EXISTS excerpt bytea;
ALTER TABLE perdure.outcome ADD COLUMN IF NOT EXISTS failed_at bigint;

-- Only failed instances with a group are in these: one group, and the newest of all groups.
CREATE INDEX CONCURRENTLY outcome_group ON perdure.outcome (failure_group, failed_at, key) WHERE failure_group IS NOT NULL;
CREATE INDEX CONCURRENTLY outcome_failed ON perdure.outcome (failed_at, key) WHERE failure_group IS NOT NULL;
