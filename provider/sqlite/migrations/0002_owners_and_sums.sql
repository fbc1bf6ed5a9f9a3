-- Which process serves a lease owner. Its number is the byte of the file -p that it holds locked.
CREATE TABLE perdure_owner (
  process INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  PRIMARY KEY (process, owner)
) STRICT, WITHOUT ROWID;

-- CRC-32C of data; null in rows of releases that wrote none.
ALTER TABLE perdure_history ADD COLUMN sum INTEGER;
