-- The requests that delivered messages to an instance that existed, so that a repeated one delivers nothing. Only the last
-- 1,000 of an instance stay. A release before this one makes no such request. If it deletes an instance, its rows here stay.
-- Nothing reads them, since no instance gets the key again.
CREATE TABLE perdure_request (
  key        BLOB NOT NULL,
  number     INTEGER NOT NULL, -- of the requests of the instance, in their order
  request_id TEXT NOT NULL,
  PRIMARY KEY (key, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX perdure_request_id ON perdure_request (key, request_id);
