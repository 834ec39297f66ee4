-- The schema of a journal. Times are microseconds since the Unix epoch, UTC, unless a column says
-- otherwise. Columns that hold JSON are TEXT.

-- The name of this journal wherever its rows go: 32 hexadecimal digits.
CREATE TABLE journal (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id   TEXT NOT NULL
) STRICT;

INSERT INTO journal (only, id) VALUES (1, lower(hex(randomblob(16))));


-- Rows and sessions

-- One row per step of a run. The 17 columns from timestamp on are those of the warehouse table, in
-- its order. The journal's own columns stand before them, so that reading them never follows the
-- overflow pages of a large payload.
CREATE TABLE agent_events (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  app_name       TEXT NOT NULL,
  run_id         TEXT NOT NULL,
  run_seq        INTEGER NOT NULL,
  timestamp      INTEGER NOT NULL,
  event_id       TEXT NOT NULL UNIQUE,
  event_type     TEXT NOT NULL,
  agent          TEXT,
  session_id     TEXT NOT NULL,
  invocation_id  TEXT,
  user_id        TEXT NOT NULL,
  trace_id       TEXT,
  span_id        TEXT,
  parent_span_id TEXT,
  content        TEXT,
  content_parts  TEXT,
  attributes     TEXT,
  latency_ms     TEXT,
  status         TEXT NOT NULL,
  error_message  TEXT,
  is_truncated   INTEGER NOT NULL
) STRICT;

CREATE INDEX agent_events_session ON agent_events (app_name, user_id, session_id, seq);

-- What a session is about and where it stands, found without reading the whole of it: the messages
-- of its user, the requests to humans, the answers and the checks.
CREATE INDEX agent_events_milestones ON agent_events (app_name, user_id, session_id, seq)
  WHERE event_type IN (
    'USER_MESSAGE_RECEIVED', 'WORLD_CHANGE_CHECK',
    'HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED',
    'HITL_CREDENTIAL_REQUEST', 'HITL_CREDENTIAL_REQUEST_COMPLETED',
    'HITL_INPUT_REQUEST', 'HITL_INPUT_REQUEST_COMPLETED');

-- The rows after which the graph of a session says something new, and whose they are, found without
-- reading a row.
CREATE INDEX agent_events_approvals ON agent_events (seq, app_name, user_id, session_id)
  WHERE event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK');

-- What the list of sessions shows. The transaction that adds rows keeps it in step: counting them
-- would read the whole journal. Of a session that was removed the row stays here, so that whatever is
-- recorded for it later is known to have lost its beginning.
CREATE TABLE sessions (
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  first_time INTEGER NOT NULL,
  last_time  INTEGER NOT NULL,
  last_seq   INTEGER NOT NULL,
  events     INTEGER NOT NULL,
  removed    INTEGER NOT NULL DEFAULT 0, -- how many rows are gone
  removed_to INTEGER NOT NULL DEFAULT 0, -- the seq up to which rows are gone or on their way out
  removing   INTEGER NOT NULL DEFAULT 0, -- 1 while some of them, or of the graph made from them, are left
  PRIMARY KEY (app_name, user_id, session_id)
) STRICT, WITHOUT ROWID;

-- The list does not show sessions without rows.
CREATE INDEX sessions_last ON sessions (last_seq) WHERE events > 0;

-- What there is to remove, the session idle for longest first. The numbers that say whether a session
-- is replicated stand in the index, so that those that wait for it are passed over without reading them.
CREATE INDEX sessions_idle ON sessions (removing, last_time, last_seq, removed_to, events)
  WHERE events > 0 OR removing = 1;

CREATE TABLE session_agents (
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  agent      TEXT NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id, agent)
) STRICT, WITHOUT ROWID;

-- The sessions of agents that ran as tools of a session: a decision in it rests on what they read, so
-- they are kept as long as it is.
CREATE TABLE child_sessions (
  app_name         TEXT NOT NULL,
  user_id          TEXT NOT NULL,
  session_id       TEXT NOT NULL,
  child_app_name   TEXT NOT NULL,
  child_user_id    TEXT NOT NULL,
  child_session_id TEXT NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id, child_app_name, child_user_id, child_session_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX child_sessions_child ON child_sessions (child_app_name, child_user_id, child_session_id);

-- How many rows of a session were lost before they could be stored. A run of which not one row is
-- left shows nowhere else.
CREATE TABLE lost_rows (
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  rows       INTEGER NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id)
) STRICT, WITHOUT ROWID;

-- The rules that rows were recorded under. at is when a process last opened the journal with them.
CREATE TABLE rules (
  digest TEXT NOT NULL PRIMARY KEY,
  at     INTEGER NOT NULL,
  json   TEXT NOT NULL
) STRICT;


-- Approvals. Retention never removes them.

-- One row per request for approval. What is known at the time of the request is never changed.
-- args, entities, receipt, gaps, not_chosen, difference, consents and report are JSON.
CREATE TABLE approvals (
  number                  INTEGER PRIMARY KEY AUTOINCREMENT,
  id                      TEXT NOT NULL UNIQUE,
  app_name                TEXT NOT NULL,
  user_id                 TEXT NOT NULL,
  session_id              TEXT NOT NULL,
  confirmation_id         TEXT,
  call_id                 TEXT NOT NULL,
  tool                    TEXT NOT NULL,
  agent                   TEXT NOT NULL,
  invocation_id           TEXT NOT NULL,
  run_id                  TEXT NOT NULL,
  decision_node           TEXT NOT NULL,
  answer_event            TEXT NOT NULL,    -- the row that ended the model call that asked
  after_event             TEXT NOT NULL,    -- where no model asked: the last row before the step began
  trace_id                TEXT NOT NULL,
  span_id                 TEXT NOT NULL,
  args_digest             TEXT NOT NULL,
  args                    TEXT,
  entities                TEXT NOT NULL,
  not_chosen              TEXT NOT NULL,    -- what was there to choose and was not chosen
  fingerprint             TEXT NOT NULL,
  policy_version          TEXT NOT NULL,
  receipt                 TEXT NOT NULL,
  gaps                    TEXT NOT NULL,
  replaces                TEXT,             -- the approval that this one replaces
  chain                   INTEGER NOT NULL, -- how many were replaced before it, one after the other
  difference              TEXT,
  requester               TEXT NOT NULL,
  requester_authenticated INTEGER NOT NULL, -- whether the program knows the requester
  approvers               INTEGER NOT NULL, -- how many people have to approve
  requested_at            INTEGER,
  expires_at              INTEGER,
  state                   TEXT NOT NULL,
  consents                TEXT,             -- those who have approved
  approver                TEXT,
  decided_at              INTEGER,
  change                  TEXT,             -- the wish of the person who rejected
  permit_nonce            TEXT,
  permit_run              TEXT,
  permit_expires_at       INTEGER,
  overridden              INTEGER NOT NULL, -- whether the permit was given although sources were down
  verdict                 TEXT,
  report                  TEXT,
  updated_at              INTEGER,
  UNIQUE (app_name, user_id, session_id, call_id, run_id)
) STRICT;

CREATE UNIQUE INDEX approvals_confirmation
  ON approvals (app_name, user_id, session_id, confirmation_id) WHERE confirmation_id IS NOT NULL;

CREATE INDEX approvals_session ON approvals (app_name, user_id, session_id, number);

-- The approvals that keep their session: those in a state that is not final, until they expire.
CREATE INDEX approvals_open ON approvals (app_name, user_id, session_id, state, expires_at)
  WHERE state NOT IN ('rejected', 'expired', 'blocked', 'executed', 'failed');

-- A request is replaced once.
CREATE UNIQUE INDEX approvals_replaces ON approvals (replaces) WHERE replaces IS NOT NULL;

-- The last request for a call, and the last wish for a change, are looked up before another request
-- is made.
CREATE INDEX approvals_same_call ON approvals (app_name, user_id, session_id, tool, args_digest, number);
CREATE INDEX approvals_change ON approvals (app_name, user_id, session_id, tool, number) WHERE change IS NOT NULL;

-- What happened to an approval, from its creation on. Rows are added and never changed or removed,
-- whoever asks.
CREATE TABLE approval_history (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  approval_id   TEXT NOT NULL REFERENCES approvals (id),
  from_state    TEXT,
  to_state      TEXT NOT NULL,
  at            INTEGER,
  actor         TEXT,
  authenticated INTEGER NOT NULL, -- whether somebody authenticated the actor
  run_id        TEXT,             -- the run in which the step was made
  check_id      TEXT,             -- the check that it follows from
  verdict       TEXT,
  override      INTEGER NOT NULL, -- whether the step goes on although the check before it failed
  resolved      INTEGER NOT NULL, -- whether the end of what was in doubt is only somebody's word
  note          TEXT
) STRICT;

CREATE INDEX approval_history_approval ON approval_history (approval_id, id);

CREATE TRIGGER approval_history_no_update BEFORE UPDATE ON approval_history
BEGIN
  SELECT raise(ABORT, 'approval_history is append-only');
END;

CREATE TRIGGER approval_history_no_delete BEFORE DELETE ON approval_history
BEGIN
  SELECT raise(ABORT, 'approval_history is append-only');
END;

-- INSERT OR REPLACE deletes without firing the trigger above.
CREATE TRIGGER approval_history_no_replace BEFORE INSERT ON approval_history
WHEN EXISTS (SELECT 1 FROM approval_history WHERE id = NEW.id)
BEGIN
  SELECT raise(ABORT, 'approval_history is append-only');
END;


-- The graph of a session: spans, the edges between them, and the entities evaluated in them. All of it
-- is derived from agent_events. digest tells whether a row is still what a new extraction says, without
-- reading it.

CREATE TABLE tech_nodes (
  key            TEXT PRIMARY KEY,
  app_name       TEXT NOT NULL,
  user_id        TEXT NOT NULL,
  session_id     TEXT NOT NULL,
  trace_id       TEXT NOT NULL,
  span_id        TEXT NOT NULL,
  parent_span_id TEXT,
  kind           TEXT NOT NULL,
  name           TEXT,
  agent          TEXT,
  invocation_id  TEXT,
  branch         TEXT,
  call_id        TEXT,
  start_time     INTEGER,
  end_time       INTEGER,
  status         TEXT,
  error_message  TEXT,
  latency_ms     REAL NOT NULL,
  event_types    TEXT NOT NULL,
  event_ids      TEXT NOT NULL,
  position       INTEGER NOT NULL,
  digest         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tech_nodes_session ON tech_nodes (app_name, user_id, session_id, position);

CREATE TABLE caused_edges (
  src        TEXT NOT NULL REFERENCES tech_nodes (key) ON DELETE CASCADE,
  kind       TEXT NOT NULL,
  dst        TEXT NOT NULL REFERENCES tech_nodes (key) ON DELETE CASCADE,
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  PRIMARY KEY (src, kind, dst)
) STRICT, WITHOUT ROWID;

CREATE INDEX caused_edges_reverse ON caused_edges (dst, kind, src);
CREATE INDEX caused_edges_session ON caused_edges (app_name, user_id, session_id);

CREATE TABLE extracted_biz_nodes (
  id            INTEGER PRIMARY KEY,
  biz_node_id   TEXT NOT NULL,
  span_id       TEXT NOT NULL,
  session_id    TEXT NOT NULL,
  node_type     TEXT NOT NULL,
  node_value    TEXT NOT NULL,
  confidence    REAL NOT NULL,
  artifact_uri  TEXT,
  created_at    INTEGER NOT NULL, -- when the entity was first stored
  tech_node_key TEXT NOT NULL,
  app_name      TEXT NOT NULL,
  user_id       TEXT NOT NULL,
  trace_id      TEXT,
  event_id      TEXT NOT NULL,
  canonical_key TEXT NOT NULL,
  norm          TEXT,
  attributes    TEXT,
  echoes        TEXT,             -- JSON list of the attributes that only repeat arguments of the call, or stand in words alone
  source        TEXT NOT NULL,
  evaluated_at  INTEGER,          -- the time of the row that it was seen in
  position      INTEGER NOT NULL, -- its place among the entities of that row
  digest        INTEGER NOT NULL,
  UNIQUE (tech_node_key, node_type, node_value)
) STRICT;

CREATE INDEX extracted_biz_nodes_session ON extracted_biz_nodes (app_name, user_id, session_id);
CREATE INDEX extracted_biz_nodes_canonical ON extracted_biz_nodes (canonical_key);

-- What models found is looked for by itself.
CREATE INDEX extracted_biz_nodes_model ON extracted_biz_nodes (app_name, user_id, session_id) WHERE source = 'model';

CREATE TABLE context_cross_links (
  node          INTEGER PRIMARY KEY REFERENCES extracted_biz_nodes (id) ON DELETE CASCADE,
  link_id       TEXT NOT NULL,
  span_id       TEXT NOT NULL,
  session_id    TEXT NOT NULL,
  biz_node_id   TEXT NOT NULL,
  link_type     TEXT NOT NULL,
  artifact_uri  TEXT,
  created_at    INTEGER NOT NULL,
  tech_node_key TEXT NOT NULL,
  app_name      TEXT NOT NULL,
  user_id       TEXT NOT NULL
) STRICT;

-- The receipt of the last extraction of a session.
CREATE TABLE extractions (
  app_name     TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  watermark    INTEGER NOT NULL,
  rows_read    INTEGER NOT NULL,
  failed       INTEGER NOT NULL,
  truncated    INTEGER NOT NULL,
  version      TEXT NOT NULL,
  errors       TEXT NOT NULL,
  extracted_at INTEGER NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id)
) STRICT, WITHOUT ROWID;


-- The evidence of a session: what its rows show is stored once, so that a decision reads what it needs
-- of it however long the session is. All of it is derived from agent_events.

-- How far the rows of a session were extracted. The tables below name the session by id.
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
  rewritten  TEXT NOT NULL, -- JSON list of the tools whose results models read otherwise
  rules      TEXT NOT NULL, -- JSON list: the rule, the rows that it read, what it found, how near its path came
  UNIQUE (app_name, user_id, session_id)
) STRICT;

-- Calls of tools that ended. seq is the row that ended the call, start_seq the row that began it,
-- 0 if that is not known.
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

-- Calls of models that ended with the row seq. results are the numbers of the results that the model
-- had read, own of those that its own requests showed: intervals, the first and the last of each, in
-- one JSON array.
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

-- One row per attribute of a thing, named "" for what is seen without any; first_seq is the first row
-- that shows it.
CREATE TABLE evidence_attributes (
  id        INTEGER PRIMARY KEY,
  session   INTEGER NOT NULL REFERENCES evidence_sessions (id),
  key       TEXT NOT NULL,
  name      TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  UNIQUE (session, key, name)
) STRICT;

-- A thing in the row seq. result is the number of the result that shows it, 0 if none does. norm,
-- attributes and echoes are JSON.
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

-- What a decision had to choose from: a thing in the row seq, by one rule, of a type that a rule with
-- alternatives finds. result is the number of the result that shows it, 0 if none does; rule is the
-- number of the rule, 0 if none found it; reading says that the rule shows it there.
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

-- The turns of runs, in the order of id.
CREATE TABLE evidence_turns (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES evidence_sessions (id),
  turn    TEXT NOT NULL,
  run     INTEGER NOT NULL,
  UNIQUE (session, turn, run)
) STRICT;

CREATE INDEX evidence_turns_run ON evidence_turns (run);


-- The outbox: rows and graphs on their way to other places

-- Where rows are sent. Every row up to cursor is acknowledged there or stands in dead_letters. state
-- belongs to the one who sends: what it needs, beside the cursor, to go on. owner may send until
-- lease_until; both are NULL when nobody sends.
CREATE TABLE destinations (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  cursor      INTEGER NOT NULL,
  state       BLOB,
  owner       TEXT,
  lease_until INTEGER
) STRICT;

-- The least cursor is that of everything.
CREATE INDEX destinations_cursor ON destinations (cursor);

-- Rows that a destination refuses for what they hold. bytes is the size as sent, code and reason are
-- the words of the server.
CREATE TABLE dead_letters (
  destination INTEGER NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  event_id    TEXT NOT NULL,
  app_name    TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  session_id  TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  code        TEXT,
  reason      TEXT NOT NULL,
  at          INTEGER NOT NULL,
  UNIQUE (destination, seq)
) STRICT;

-- A dead letter keeps its session.
CREATE INDEX dead_letters_session ON dead_letters (app_name, user_id, session_id);
CREATE INDEX dead_letters_event ON dead_letters (destination, event_id);

-- The last version of the graph of a session that was made for a destination, and the day under which
-- all of them stand there, in days since 1970.
CREATE TABLE graph_versions (
  app_name    TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  session_id  TEXT NOT NULL,
  destination TEXT NOT NULL,
  version     INTEGER NOT NULL,
  day         INTEGER NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id, destination)
) STRICT, WITHOUT ROWID;
