-- Processes that serve lease owners, or that watch those which do. One whose row was not renewed for 10 s is dead: others end the leases
-- of its owners. A release before this one has no row, and keeps its leases until they run out.
CREATE TABLE perdure.process (
  id         text COLLATE "C" NOT NULL PRIMARY KEY,
  owners     text[] NOT NULL,
  renewed_at bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500);
