-- The journal, version 8: what a decision had to choose from.

-- A thing in the row seq, by one rule, of a type that a rule with alternatives finds. result
-- is the number of the result that shows it, 0 if none does; rule is the number of the rule,
-- 0 if none found it; reading says that the rule shows it there. Made from agent_events.
CREATE TABLE evidence_choices (
  session INTEGER NOT NULL REFERENCES evidence_sessions (id),
  key     TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  result  INTEGER NOT NULL,
  rule    INTEGER NOT NULL,
  reading INTEGER NOT NULL,
  PRIMARY KEY (session, key, seq, result, rule)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_choices_result ON evidence_choices (session, result) WHERE reading = 1;

-- An approval says what was there to choose and was not chosen, as JSON.
ALTER TABLE approvals ADD COLUMN not_chosen TEXT NOT NULL DEFAULT '{}';
