-- The journal, version 1. Times are microseconds since the Unix epoch, UTC,
-- unless a column says otherwise. Columns that hold JSON are TEXT.

-- One row per step of a run. The 17 columns from timestamp on are those of the
-- warehouse table, in its order. The journal's own columns stand before them, so
-- that reading them never follows the overflow pages of a large payload.
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

-- What the list of sessions shows, kept in step with agent_events by the
-- transaction that adds the rows: counting them would read the whole journal.
CREATE TABLE sessions (
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  first_time INTEGER NOT NULL,
  last_time  INTEGER NOT NULL,
  last_seq   INTEGER NOT NULL,
  events     INTEGER NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_last ON sessions (last_seq);

CREATE TABLE session_agents (
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  agent      TEXT NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id, agent)
) STRICT, WITHOUT ROWID;

-- The graph of a session: spans, the edges between them, the entities evaluated
-- in them. All three are derived from agent_events. digest tells whether a row is
-- still what a new extraction says, without reading it.
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

-- created_at is when the entity was first stored, evaluated_at the time of the row
-- it was seen in, position its place among the entities of that row.
CREATE TABLE extracted_biz_nodes (
  id            INTEGER PRIMARY KEY,
  biz_node_id   TEXT NOT NULL,
  span_id       TEXT NOT NULL,
  session_id    TEXT NOT NULL,
  node_type     TEXT NOT NULL,
  node_value    TEXT NOT NULL,
  confidence    REAL NOT NULL,
  artifact_uri  TEXT,
  created_at    INTEGER NOT NULL,
  tech_node_key TEXT NOT NULL,
  app_name      TEXT NOT NULL,
  user_id       TEXT NOT NULL,
  trace_id      TEXT,
  event_id      TEXT NOT NULL,
  canonical_key TEXT NOT NULL,
  norm          TEXT,
  attributes    TEXT,
  source        TEXT NOT NULL,
  evaluated_at  INTEGER,
  position      INTEGER NOT NULL,
  digest        INTEGER NOT NULL,
  UNIQUE (tech_node_key, node_type, node_value)
) STRICT;

CREATE INDEX extracted_biz_nodes_session ON extracted_biz_nodes (app_name, user_id, session_id);
CREATE INDEX extracted_biz_nodes_canonical ON extracted_biz_nodes (canonical_key);

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

-- One row per request for approval. args, entities, receipt, gaps and report are
-- JSON; what is known at the time of the request is never changed.
CREATE TABLE approvals (
  number            INTEGER PRIMARY KEY AUTOINCREMENT,
  id                TEXT NOT NULL UNIQUE,
  app_name          TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  session_id        TEXT NOT NULL,
  confirmation_id   TEXT,
  call_id           TEXT NOT NULL,
  tool              TEXT NOT NULL,
  agent             TEXT NOT NULL,
  invocation_id     TEXT NOT NULL,
  run_id            TEXT NOT NULL,
  decision_node     TEXT NOT NULL,
  trace_id          TEXT NOT NULL,
  span_id           TEXT NOT NULL,
  args_digest       TEXT NOT NULL,
  args              TEXT,
  entities          TEXT NOT NULL,
  fingerprint       TEXT NOT NULL,
  policy_version    TEXT NOT NULL,
  receipt           TEXT NOT NULL,
  gaps              TEXT NOT NULL,
  requester         TEXT NOT NULL,
  requested_at      INTEGER,
  expires_at        INTEGER,
  state             TEXT NOT NULL,
  approver          TEXT,
  decided_at        INTEGER,
  permit_nonce      TEXT,
  permit_run        TEXT,
  permit_expires_at INTEGER,
  verdict           TEXT,
  report            TEXT,
  updated_at        INTEGER,
  UNIQUE (app_name, user_id, session_id, call_id, run_id)
) STRICT;

CREATE UNIQUE INDEX approvals_confirmation
  ON approvals (app_name, user_id, session_id, confirmation_id)
  WHERE confirmation_id IS NOT NULL;
CREATE INDEX approvals_session ON approvals (app_name, user_id, session_id, number);

-- What happened to an approval, from its creation on. Rows are added and never
-- changed or removed, whoever asks.
CREATE TABLE approval_history (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  approval_id TEXT NOT NULL REFERENCES approvals (id),
  from_state  TEXT,
  to_state    TEXT NOT NULL,
  at          INTEGER,
  actor       TEXT,
  verdict     TEXT,
  note        TEXT
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
