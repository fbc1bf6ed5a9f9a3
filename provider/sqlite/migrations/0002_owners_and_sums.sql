-- Which process serves a lease owner. Its number is the byte of the file -p that it holds locked.
CREATE TABLE perdure_owner (
  process INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  PRIMARY KEY (process, owner)
) STRICT, WITHOUT ROWID;

-- CRC-32C of data, payload, payload and result; null in rows that were written without.
ALTER TABLE perdure_history ADD COLUMN sum INTEGER;
ALTER TABLE perdure_inbox ADD COLUMN sum INTEGER;
ALTER TABLE perdure_task ADD COLUMN sum INTEGER;
ALTER TABLE perdure_outcome ADD COLUMN sum INTEGER;
