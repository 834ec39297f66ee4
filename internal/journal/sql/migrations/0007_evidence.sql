-- The journal, version 7: what the rows of a session show is stored once, so that a
-- decision reads what it needs of it however long the session is. All of it is made from
-- agent_events and can be made again.

-- How far the rows of a session were extracted. The tables below name the session by id.
-- rewritten is a JSON array of the tools whose results models read otherwise.
CREATE TABLE evidence_sessions (
  id         INTEGER PRIMARY KEY,
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  watermark  INTEGER NOT NULL,
  rows_read  INTEGER NOT NULL,
  failed     INTEGER NOT NULL,
  truncated  INTEGER NOT NULL,
  error      TEXT NOT NULL,
  version    TEXT NOT NULL,
  results    INTEGER NOT NULL,
  unmatched  INTEGER NOT NULL,
  rewritten  TEXT NOT NULL,
  UNIQUE (app_name, user_id, session_id)
) STRICT;

-- Calls of tools that ended. seq is the row that ended the call, start_seq the row that
-- began it, 0 if that is not known.
CREATE TABLE evidence_results (
  session   INTEGER NOT NULL REFERENCES evidence_sessions (id),
  number    INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  start_seq INTEGER NOT NULL,
  event_id  TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  call_id   TEXT NOT NULL,
  digest    TEXT NOT NULL,
  PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_results_call ON evidence_results (session, call_id, digest);
CREATE INDEX evidence_results_run ON evidence_results (session, run_id, seq);
CREATE INDEX evidence_results_event ON evidence_results (session, event_id);

-- Calls of models that ended with the row seq. results are the numbers of the results that
-- the model had read, own of those that its own requests showed: intervals, the first and
-- the last of each, in one JSON array.
CREATE TABLE evidence_calls (
  session  INTEGER NOT NULL REFERENCES evidence_sessions (id),
  seq      INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  results  TEXT NOT NULL,
  own      TEXT NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_calls_event ON evidence_calls (session, event_id);

-- What later requests call the call of a model by.
CREATE TABLE evidence_names (
  session INTEGER NOT NULL REFERENCES evidence_sessions (id),
  name    TEXT NOT NULL,
  call    INTEGER NOT NULL,
  PRIMARY KEY (session, name, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_names_call ON evidence_names (session, call);

-- One row per attribute of a thing, named "" for what is seen without any; first_seq is
-- the first row that shows it.
CREATE TABLE evidence_attributes (
  id        INTEGER PRIMARY KEY,
  session   INTEGER NOT NULL REFERENCES evidence_sessions (id),
  key       TEXT NOT NULL,
  name      TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  UNIQUE (session, key, name)
) STRICT;

-- A thing in the row seq. result is the number of the result that shows it, 0 if none
-- does. norm, attributes and echoes are JSON.
CREATE TABLE evidence_sightings (
  id           INTEGER PRIMARY KEY,
  session      INTEGER NOT NULL REFERENCES evidence_sessions (id),
  key          TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  start_seq    INTEGER NOT NULL,
  result       INTEGER NOT NULL,
  source       TEXT NOT NULL,
  node_type    TEXT NOT NULL,
  node_value   TEXT NOT NULL,
  norm         TEXT,
  attributes   TEXT,
  echoes       TEXT,
  artifact_uri TEXT,
  confidence   REAL NOT NULL,
  event_id     TEXT NOT NULL,
  tech_node    TEXT NOT NULL,
  span_id      TEXT NOT NULL,
  seen_at      INTEGER,
  repeats      INTEGER NOT NULL
) STRICT;

CREATE INDEX evidence_sightings_result ON evidence_sightings (session, result);

-- Which sightings there are of an attribute, and whether they are readings of it.
CREATE TABLE evidence_seen (
  session   INTEGER NOT NULL REFERENCES evidence_sessions (id),
  attribute INTEGER NOT NULL,
  reading   INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  sighting  INTEGER NOT NULL,
  PRIMARY KEY (session, attribute, reading, seq, sighting)
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence_runs (
  id         INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES evidence_sessions (id),
  run_id     TEXT NOT NULL,
  turn       TEXT NOT NULL,
  started    INTEGER,
  first_seq  INTEGER NOT NULL,
  completed  INTEGER NOT NULL,
  expected   INTEGER NOT NULL,
  stored     INTEGER NOT NULL,
  UNIQUE (session, run_id)
) STRICT;

CREATE INDEX evidence_runs_open ON evidence_runs (session, id) WHERE completed = 0 OR stored < expected;

-- What models found is looked for by itself.
CREATE INDEX extracted_biz_nodes_model ON extracted_biz_nodes (app_name, user_id, session_id) WHERE source = 'model';

-- The turns of runs, in the order of id.
CREATE TABLE evidence_turns (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES evidence_sessions (id),
  turn    TEXT NOT NULL,
  run     INTEGER NOT NULL,
  UNIQUE (session, turn, run)
) STRICT;

CREATE INDEX evidence_turns_run ON evidence_turns (run);

-- The sessions of agents that ran as tools of a session: what a decision in it rests on
-- was copied from them, and they are kept as long as it is.
CREATE TABLE evidence_children (
  session    INTEGER NOT NULL REFERENCES evidence_sessions (id),
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  PRIMARY KEY (session, app_name, user_id, session_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_children_child ON evidence_children (app_name, user_id, session_id);

-- An approval says which step asked: the row that ended the model call, or the last row
-- before the step began where no model asked.
ALTER TABLE approvals ADD COLUMN answer_event TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN after_event  TEXT NOT NULL DEFAULT '';
