-- The instance with which a session ends. Null: none is known, as of what an older release writes; the session then ends when it is idle.
ALTER TABLE perdure.session ADD COLUMN key uuid;

CREATE INDEX session_key ON perdure.session (key) WHERE key IS NOT NULL;
