-- For lists, counts and figures of instances by orchestration, version and status. The rows of each kind and status are in the order of
-- lists. An older release writes both indexes like any other.
CREATE INDEX perdure_instance_kind ON perdure_instance (kind, status, created_at);
-- Statuses of the few, for filters without a name. An orchestration that completes never writes it.
CREATE INDEX perdure_instance_status ON perdure_instance (status, created_at) WHERE status IN (2, 4, 5, 6);
