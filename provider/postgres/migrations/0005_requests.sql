-- The requests that delivered messages to an instance that existed, so that a repeated one delivers nothing. Only the last
-- 1,000 of an instance stay. A release before this one makes no such request. If it deletes an instance, its rows here stay.
-- Nothing reads them, since no instance gets the key again.
CREATE TABLE perdure.request (
  key        uuid NOT NULL,
  number     bigint NOT NULL, -- of the requests of the instance, in their order
  request_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (key, number),
  CONSTRAINT request_id_key UNIQUE (key, request_id)
);
