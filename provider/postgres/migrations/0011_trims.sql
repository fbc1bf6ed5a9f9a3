-- When an execution was left by its instance, so that old ones can be trimmed. 0: an older release closed it, and the first trim that
-- looks at it notes the time.
ALTER TABLE perdure.execution ADD COLUMN ended_at bigint NOT NULL DEFAULT 0;
