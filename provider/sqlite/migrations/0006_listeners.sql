-- The instances that get a message at the end of another one. A start with a listener names an engine level that no release before
-- this one has, so that only later nodes end it by a commit. A release before this one that terminates or deletes it tells nobody.
ALTER TABLE perdure_instance ADD COLUMN listened INTEGER; -- null means no, as in what an older release writes

CREATE TABLE perdure_listener (
  key          BLOB NOT NULL PRIMARY KEY, -- of the instance that ends
  listener     BLOB NOT NULL,
  kind         INTEGER NOT NULL,
  execution    INTEGER NOT NULL,
  event_id     INTEGER NOT NULL,
  delay        INTEGER NOT NULL,
  engine_level INTEGER NOT NULL,
  payload      BLOB,
  sum          INTEGER
) STRICT;
