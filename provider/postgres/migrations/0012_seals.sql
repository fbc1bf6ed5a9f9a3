-- Instances on their way to another store, or from there. A closed one counts as being deleted, also for a release before this one: it
-- neither runs nor changes the instance. A release before this one could resume an instance that is only held; it is then not closed.
CREATE TABLE perdure.seal (
  key      uuid NOT NULL PRIMARY KEY,
  transfer uuid NOT NULL,
  state    smallint NOT NULL, -- 0: it was freed, and the row says that the transfer is known
  arrived  boolean NOT NULL,
  status   smallint NOT NULL, -- that the instance gets back
  ended_at bigint NOT NULL,   -- as the one before
  pages    bigint NOT NULL    -- that an import has stored
);
