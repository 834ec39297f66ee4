-- The schema of a journal. Times are microseconds since the Unix epoch, UTC, unless a column says
-- otherwise. Columns that hold JSON are TEXT.

-- id is the name of this journal wherever its rows go: 32 hexadecimal digits. secret is the key of
-- digests that only its own programs may recognise. removed_to is the greatest seq of a row that
-- retention removed: no row gets it, or a smaller one, again.
CREATE TABLE journal (
  only       INTEGER PRIMARY KEY CHECK (only = 1),
  id         TEXT NOT NULL,
  secret     BLOB NOT NULL,
  removed_to INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO journal (only, id, secret) VALUES (1, lower(hex(randomblob(16))), randomblob(32));


-- Rows and sessions

-- What the list of sessions shows, and the number that stands for a session in other tables. The
-- transaction that adds rows keeps it in step: counting them would read the whole journal. Of a
-- session that was removed the row stays here, so that whatever is recorded for it later is known to
-- have lost its beginning.
CREATE TABLE sessions (
  number     INTEGER PRIMARY KEY,
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  first_time INTEGER NOT NULL DEFAULT 0,
  last_time  INTEGER NOT NULL DEFAULT 0,
  last_seq   INTEGER NOT NULL DEFAULT 0,
  events     INTEGER NOT NULL DEFAULT 0,
  removed    INTEGER NOT NULL DEFAULT 0, -- how many rows are gone
  removed_to INTEGER NOT NULL DEFAULT 0, -- the seq up to which rows are gone or on their way out
  removing   INTEGER NOT NULL DEFAULT 0, -- 1 while some of them are left
  UNIQUE (app_name, user_id, session_id)
) STRICT;

-- The list does not show sessions without rows.
CREATE INDEX sessions_last ON sessions (last_seq) WHERE events > 0;

-- What there is to remove, the session idle for longest first. The numbers that say whether a session
-- is replicated stand in the index, so that those that wait for it are passed over without reading them.
CREATE INDEX sessions_idle ON sessions (removing, last_time, last_seq, removed_to, events)
  WHERE events > 0 OR removing = 1;

CREATE TABLE session_agents (
  session INTEGER NOT NULL REFERENCES sessions (number),
  agent   TEXT NOT NULL,
  PRIMARY KEY (session, agent)
) STRICT, WITHOUT ROWID;

-- The sessions of agents that ran as tools of a session: a decision in it rests on what they read, so
-- they are kept as long as it is.
CREATE TABLE child_sessions (
  session INTEGER NOT NULL REFERENCES sessions (number),
  child   INTEGER NOT NULL REFERENCES sessions (number),
  span    TEXT NOT NULL, -- of the call, as its id
  call    TEXT NOT NULL,
  PRIMARY KEY (session, child, span)
) STRICT, WITHOUT ROWID;

CREATE INDEX child_sessions_child ON child_sessions (child);

-- How many rows of a run were lost before they could be stored. A run of which not one row is left
-- shows nowhere else. Of a session with very many such runs, one line without run_id counts the rows of
-- the last ones.
CREATE TABLE lost_rows (
  session INTEGER NOT NULL REFERENCES sessions (number),
  run_id  TEXT NOT NULL,
  rows    INTEGER NOT NULL,
  PRIMARY KEY (session, run_id)
) STRICT, WITHOUT ROWID;

-- One row per step of a run. The 17 columns from timestamp on are those of the warehouse table, in
-- its order. The journal's own columns stand before them, so that reading them never follows the
-- overflow pages of a large payload. session says with one number what app_name, user_id and
-- session_id say with three texts, so an index of it is small and grows at its end.
CREATE TABLE agent_events (
  seq            INTEGER PRIMARY KEY,
  session        INTEGER NOT NULL REFERENCES sessions (number),
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

-- With the types it also finds what a session is about and where it stands without reading its rows:
-- the messages of its user, the requests to humans, the answers and the checks.
CREATE INDEX agent_events_session ON agent_events (session, seq, event_type);

-- The rows after which the graph of a session says something new, and whose they are, found without
-- reading a row.
CREATE INDEX agent_events_approvals ON agent_events (seq, session)
  WHERE event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK');

-- What a session comes to, made of its rows and its approvals by whoever lists sessions. It holds while
-- the last row of the session has the number last_seq, and until the time until. Whatever else would
-- change it removes it.
CREATE TABLE summaries (
  session    INTEGER PRIMARY KEY REFERENCES sessions (number),
  last_seq   INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  status     TEXT NOT NULL,
  start      INTEGER NOT NULL,
  "end"      INTEGER NOT NULL,
  errors     INTEGER NOT NULL,
  turns      INTEGER NOT NULL,
  prompt     INTEGER NOT NULL, -- tokens
  completion INTEGER NOT NULL,
  total      INTEGER NOT NULL,
  words      BLOB NOT NULL,    -- of a search, so that most sessions need not be read for it
  more       TEXT              -- JSON: what few sessions have
) STRICT;

-- The rules that rows were recorded under. at is when a process last opened the journal with them.
CREATE TABLE rules (
  digest TEXT NOT NULL PRIMARY KEY,
  at     INTEGER NOT NULL,
  json   TEXT NOT NULL
) STRICT;


-- Approvals. Retention never removes them.

-- One row per request for approval. What is known at the time of the request is never changed.
-- args, entities, receipt, gaps, not_chosen, surroundings, difference, consents and report are JSON.
CREATE TABLE approvals (
  number                  INTEGER PRIMARY KEY,
  id                      TEXT NOT NULL UNIQUE,
  session                 INTEGER NOT NULL REFERENCES sessions (number),
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
  declaration             TEXT NOT NULL,    -- a digest of how the tool was declared
  entities                TEXT NOT NULL,
  not_chosen              TEXT NOT NULL,    -- what was there to choose and was not chosen
  surroundings            TEXT NOT NULL,    -- digests of what the call could read beside its arguments
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
  open                    INTEGER NOT NULL DEFAULT 1, -- 0 in a state that is final
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
  UNIQUE (session, call_id, run_id)
) STRICT;

CREATE UNIQUE INDEX approvals_confirmation ON approvals (session, confirmation_id) WHERE confirmation_id IS NOT NULL;

-- The last request for a call is looked up before another request is made.
CREATE INDEX approvals_call ON approvals (session, tool, args_digest);

-- The approvals that keep their session. The index is written when an approval is made and when it
-- comes to its end, and not with every change of its state.
CREATE INDEX approvals_open ON approvals (session) WHERE open = 1;

-- A request is replaced once.
CREATE UNIQUE INDEX approvals_replaces ON approvals (replaces) WHERE replaces IS NOT NULL;

-- What happened to an approval, from its creation on. Rows are added and never changed or removed,
-- whoever asks. id is the number of the approval times 1048576 (two to the power of 20), plus the
-- number of the step: so the steps of an approval stand together and need no index.
CREATE TABLE approval_history (
  id            INTEGER PRIMARY KEY,
  approval      INTEGER NOT NULL REFERENCES approvals (number),
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
  note          TEXT,
  CHECK (approval = id >> 20)
) STRICT;

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


-- The outbox: rows on their way to other places

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
  session     INTEGER NOT NULL REFERENCES sessions (number),
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
CREATE INDEX dead_letters_session ON dead_letters (session);
CREATE INDEX dead_letters_event ON dead_letters (destination, event_id);

-- The sessions with rows: one whose rows were removed is not listed.
CREATE VIEW listed_sessions AS
SELECT s.app_name, s.user_id, s.session_id, s.first_time, s.last_time, s.last_seq, s.events,
  (SELECT json_group_array(a.agent) FROM session_agents AS a
    WHERE a.session = s.number) AS agents,
  (SELECT p.state FROM approvals AS p
    WHERE p.session = s.number
    ORDER BY p.number DESC LIMIT 1) AS approval
FROM sessions AS s
WHERE s.events > 0;


-- Views for people who look into the file with sqlite3. They show the graph that the rows hold in
-- themselves, under the names that the columns of such graphs have in BigQuery. No program reads them.
--
-- No view uses anything that is newer than SQLite 3.37, the first version that reads STRICT tables. A
-- version that cannot read one view cannot read the file.

-- One row per span; a row without a span is a step of its own. event_id, event_type, agent and
-- timestamp are those of its first row, status and error_message those of its last row. A row that
-- says what a model found in the step is no part of it.
CREATE VIEW tech_nodes AS
SELECT app_name, user_id, session_id, trace_id, span_id, parent_span_id, event_id, event_type, event_types,
  agent, timestamp, end_time, status, error_message
FROM (
  SELECT app_name, user_id, session_id, trace_id, span_id, event_id, event_type, agent, timestamp,
    row_number() OVER step AS place,
    max(parent_span_id) OVER step AS parent_span_id,
    json_group_array(event_type) OVER step AS event_types,
    max(timestamp) OVER step AS end_time,
    last_value(status) OVER step AS status,
    last_value(error_message) OVER step AS error_message
  FROM agent_events
  WHERE event_type <> 'ENTITIES_FOUND'
  WINDOW step AS (
    PARTITION BY app_name, user_id, session_id, trace_id, span_id, CASE WHEN span_id IS NULL THEN event_id END
    ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  )
)
WHERE place = 1;

-- Which step contains which: one row per step whose parent is on record. It is no join of the steps
-- with themselves, because SQLite may run one without an index.
CREATE VIEW caused_edges AS
SELECT app_name, user_id, session_id, trace_id, parent_span_id, span_id, 'contains' AS kind
FROM (
  SELECT app_name, user_id, session_id, trace_id, parent_span_id, span_id,
    max(recorded) OVER (PARTITION BY app_name, user_id, session_id, trace_id, parent_span_id) AS recorded
  FROM (
    SELECT app_name, user_id, session_id, trace_id, parent_span_id, span_id, 0 AS recorded FROM tech_nodes
    UNION ALL
    SELECT app_name, user_id, session_id, trace_id, span_id, NULL, 1 FROM tech_nodes
  )
)
WHERE recorded = 1 AND parent_span_id IS NOT NULL AND span_id IS NOT NULL;

-- What each request for a confirmation rests on: one row per request and thing. The ledger knows it. If
-- the rows came from another journal, there is only what the request shows.
CREATE VIEW biz_nodes AS
SELECT
  coalesce(span_id, '') || ':' || replace(replace(node_type, '%', '%25'), ':', '%3A')
    || ':' || replace(replace(node_value, '%', '%25'), ':', '%3A') AS biz_node_id,
  app_name, user_id, session_id, trace_id, span_id, node_type, node_value, confidence, artifact_uri, created_at
FROM (
  SELECT e.app_name, e.user_id, e.session_id, e.trace_id, e.span_id, e.timestamp AS created_at,
    coalesce(json_extract(thing.value, '$.Type'), json_extract(thing.value, '$.type')) AS node_type,
    coalesce(json_extract(thing.value, '$.Value'), json_extract(thing.value, '$.value')) AS node_value,
    coalesce(json_extract(thing.value, '$.Confidence'), json_extract(thing.value, '$.confidence')) AS confidence,
    nullif(json_extract(thing.value, '$.ArtifactURI'), '') AS artifact_uri
  FROM agent_events AS e
  LEFT JOIN approvals AS a ON a.session = e.session
    AND a.id = CASE WHEN json_valid(e.attributes) THEN json_extract(e.attributes, '$.adk.approval_id') END
  JOIN json_each(
    coalesce(a.entities, CASE WHEN json_valid(e.content) THEN e.content END),
    CASE WHEN a.id IS NULL THEN '$.args.toolConfirmation.payload.contextgraph.entities' ELSE '$' END
  ) AS thing
  WHERE e.event_type = 'HITL_CONFIRMATION_REQUEST' AND thing.type = 'object'
);

-- Which request rests on which thing.
CREATE VIEW cross_links AS
SELECT biz_node_id AS link_id, app_name, user_id, session_id, trace_id, span_id, biz_node_id,
  'EVALUATED' AS link_type, artifact_uri, created_at
FROM biz_nodes;
