-- A question for another capability than that of its instance, and how long a question is left to the owner to which its instance
-- sticks. A release before this one knows no as_name. It would give such a question to nodes of the instance's own capability, so
-- taken_until of such a question lies far in the future, which hides it from that release, and as_taken_until takes its place. A
-- question that an older release stores has no home_until and may be taken at once.
ALTER TABLE perdure_ask ADD COLUMN as_name TEXT;
ALTER TABLE perdure_ask ADD COLUMN as_version TEXT;
ALTER TABLE perdure_ask ADD COLUMN as_taken_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE perdure_ask ADD COLUMN home_until INTEGER NOT NULL DEFAULT 0;
