-- For lists, counts and figures of instances by orchestration, version and status. The rows of each kind and status are in the order of
-- lists. An older release writes both indexes like any other.
-- The status comes first, so that no claim of turns, which compares kinds, is planned with this index.
CREATE INDEX CONCURRENTLY instance_kind ON perdure.instance (status, kind, created_at DESC, key DESC);
-- Statuses of the few, for filters without a name. An orchestration that completes never writes it.
CREATE INDEX CONCURRENTLY instance_status ON perdure.instance (status, created_at DESC, key DESC) WHERE status IN (2, 4, 5, 6);
