-- The journal, version 9: what the extraction rules read and found.

-- A list of objects, as JSON: the rule, the rows that it read, what it found, and how near its path
-- came. Made from agent_events.
ALTER TABLE evidence_sessions ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
