-- The instance with which a session ends. Null: none is known, as of what an older release writes; the session then ends when it is idle.
ALTER TABLE perdure_session ADD COLUMN key BLOB;

CREATE INDEX perdure_session_key ON perdure_session (key) WHERE key IS NOT NULL;
