-- Instances on their way to another store, or from there. A closed one counts as being deleted, also for a release before this one: it
-- neither runs nor changes the instance. A release before this one could resume an instance that is only held; it is then not closed.
CREATE TABLE perdure_seal (
  key      BLOB NOT NULL PRIMARY KEY,
  transfer BLOB NOT NULL,
  state    INTEGER NOT NULL, -- 0: it was freed, and the row says that the transfer is known
  arrived  INTEGER NOT NULL,
  status   INTEGER NOT NULL, -- that the instance gets back
  ended_at INTEGER NOT NULL, -- as the one before
  pages    INTEGER NOT NULL  -- that an import has stored
) STRICT, WITHOUT ROWID;
