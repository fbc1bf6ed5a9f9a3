-- What a redriven task keeps. Empty means none, as in what an older release writes: that release forgets these three of a task that it
-- buries or redrives, as it always did, and the task then runs without them. No other promise depends on them.
ALTER TABLE perdure.dead_letter ADD COLUMN fairness_key text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE perdure.dead_letter ADD COLUMN session text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE perdure.dead_letter ADD COLUMN limit_key text COLLATE "C" NOT NULL DEFAULT '';
