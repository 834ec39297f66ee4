-- The journal, version 8: what a decision had to choose from, which request another one
-- replaces, and which attributes nobody looked up.

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

-- replaces is the approval that this one replaces. chain counts those that were replaced before
-- it, one after the other. difference is JSON.
ALTER TABLE approvals ADD COLUMN replaces   TEXT;
ALTER TABLE approvals ADD COLUMN chain      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN difference TEXT;

-- A request is replaced once.
CREATE UNIQUE INDEX approvals_replaces ON approvals (replaces) WHERE replaces IS NOT NULL;

-- The last request for a call is looked up before another one is made.
CREATE INDEX approvals_same_call ON approvals (app_name, user_id, session_id, tool, args_digest, number);

-- Which attributes of an entity only repeat the arguments of the call, or stand in words alone, as a JSON list of names; NULL for none.
ALTER TABLE extracted_biz_nodes ADD COLUMN echoes TEXT;
