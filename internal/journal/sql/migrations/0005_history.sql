-- The journal, version 5: the history of an approval says in which run each step was
-- made, which check it follows from, whether anybody authenticated who made it, and
-- whether the end of what was in doubt is only somebody's word.
ALTER TABLE approval_history ADD COLUMN run_id TEXT;
ALTER TABLE approval_history ADD COLUMN check_id TEXT;
ALTER TABLE approval_history ADD COLUMN authenticated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approval_history ADD COLUMN resolved INTEGER NOT NULL DEFAULT 0;
