-- The request IDs of Steer that an instance remembers: 16 bytes of the SHA-256 of each, the newest last. A release before this
-- one has no request IDs. It keeps the column, and removes the row only with its instance.
ALTER TABLE perdure.outcome ADD COLUMN acts bytea;
