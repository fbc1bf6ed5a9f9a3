-- The instances that get a message at the end of another one. A start with a listener names an engine level that no release before
-- this one has, so that only later nodes end it by a commit. A release before this one that terminates or deletes it tells nobody.
ALTER TABLE perdure.instance ADD COLUMN listened boolean NOT NULL DEFAULT false;

CREATE TABLE perdure.listener (
  key          uuid NOT NULL PRIMARY KEY, -- of the instance that ends
  listener     uuid NOT NULL,
  kind         smallint NOT NULL,
  execution    bigint NOT NULL,
  event_id     bigint NOT NULL,
  delay        bigint NOT NULL,
  engine_level bigint NOT NULL,
  payload      bytea
);
