-- The schema of a store. Times are microseconds since the Unix epoch, UTC, but for those of leases, which are by the
-- clock of the database. A text that PostgreSQL cannot hold is stored with its bad bytes as U+001A and two
-- hexadecimal digits. What a client or a model wrote is indexed by its SHA-256, because an index entry is short.

CREATE SCHEMA contextgraph;

-- One row: the version of this schema, the name of the store in other places, and the key of digests that only the
-- programs of this store may recognise.
CREATE TABLE contextgraph.meta (
  single  boolean PRIMARY KEY DEFAULT true CHECK (single),
  version integer NOT NULL,
  id      text NOT NULL,
  secret  bytea NOT NULL
);

-- Orders the rows of all sessions. It is asked while the rows of the session are locked, so within a session it grows
-- in the order of commits. It has holes.
CREATE SEQUENCE contextgraph.row_seq CACHE 1;

-- number is that of the last row of the session. Numbers of a session have no holes but those that retention makes.
-- While removing is true, rows up to removed_to are on their way out.
CREATE TABLE contextgraph.sessions (
  key        bytea PRIMARY KEY,
  app_name   text COLLATE "C" NOT NULL,
  user_id    text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  number     bigint NOT NULL DEFAULT 0,
  last_seq   bigint NOT NULL DEFAULT 0,
  events     bigint NOT NULL DEFAULT 0,
  lost       bigint NOT NULL DEFAULT 0,
  first_time bigint NOT NULL DEFAULT 0,
  last_time  bigint NOT NULL DEFAULT 0,
  agents     text[] NOT NULL DEFAULT '{}',
  removed    bigint NOT NULL DEFAULT 0,
  removed_to bigint NOT NULL DEFAULT 0,
  removing   boolean NOT NULL DEFAULT false
);
CREATE INDEX sessions_last ON contextgraph.sessions (last_seq) WHERE events > 0;
CREATE INDEX sessions_idle ON contextgraph.sessions (last_time) WHERE events > 0 OR removing;

CREATE TABLE contextgraph.rows (
  session        bytea NOT NULL,
  seq            bigint NOT NULL,
  number         bigint NOT NULL,
  event_key      bytea NOT NULL UNIQUE,
  run_seq        bigint NOT NULL,
  "timestamp"    bigint NOT NULL,
  is_truncated   boolean NOT NULL,
  run_id         text NOT NULL,
  event_id       text NOT NULL,
  event_type     text COLLATE "C" NOT NULL,
  agent          text NOT NULL,
  invocation_id  text COLLATE "C" NOT NULL,
  trace_id       text NOT NULL,
  span_id        text NOT NULL,
  parent_span_id text NOT NULL,
  status         text NOT NULL,
  error_message  text NOT NULL,
  content        text NOT NULL,
  content_parts  text NOT NULL,
  attributes     text NOT NULL,
  latency_ms     text NOT NULL,
  PRIMARY KEY (session, seq),
  UNIQUE (session, number)
);

CREATE TABLE contextgraph.child_sessions (
  session  bytea NOT NULL,
  child    bytea NOT NULL,
  span_key bytea NOT NULL,
  span     text NOT NULL,
  call     text NOT NULL,
  PRIMARY KEY (session, child, span_key)
);
CREATE INDEX child_sessions_child ON contextgraph.child_sessions (child);

CREATE TABLE contextgraph.lost_rows (
  session bytea NOT NULL,
  run_key bytea NOT NULL,
  run_id  text NOT NULL,
  rows    bigint NOT NULL,
  PRIMARY KEY (session, run_key)
);

-- One row per request for approval. head and long are JSON: what a transition may change, or decides by, and the
-- rest. version counts the steps. attempt is the id of the last change that somebody tried.
-- lease_until is set while the effect runs and its holder lives; a lease that is over is an effect in doubt.
CREATE TABLE contextgraph.approvals (
  number           bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id               text COLLATE "C" PRIMARY KEY,
  session          bytea NOT NULL,
  call_key         bytea NOT NULL, -- of call and run
  confirmation_key bytea,
  confirmation_id  text COLLATE "C" NOT NULL,
  replaces         text COLLATE "C" UNIQUE,
  tool             text COLLATE "C" NOT NULL,
  args_digest      text COLLATE "C" NOT NULL,
  state            text NOT NULL,
  open             boolean NOT NULL DEFAULT true,
  expires_at       bigint NOT NULL,
  permit_run       text COLLATE "C" NOT NULL DEFAULT '',
  lease_until      timestamptz,
  version          bigint NOT NULL DEFAULT 1,
  attempt          text NOT NULL,
  head             text NOT NULL,
  long             text NOT NULL,
  args             text NOT NULL,
  report           text NOT NULL DEFAULT '',
  UNIQUE (session, call_key),
  UNIQUE (session, confirmation_key)
);
CREATE INDEX approvals_session ON contextgraph.approvals (session, number);
CREATE INDEX approvals_open ON contextgraph.approvals (expires_at) WHERE open;

-- What happened to an approval, from its creation on. Nothing here changes a step or removes one.
CREATE TABLE contextgraph.steps (
  approval text COLLATE "C" NOT NULL REFERENCES contextgraph.approvals (id),
  number   bigint NOT NULL,
  attempt  text NOT NULL,
  step     text NOT NULL,
  PRIMARY KEY (approval, number)
);

-- at orders the digests: the greatest is that of the newest rules.
CREATE TABLE contextgraph.rules (
  digest text COLLATE "C" PRIMARY KEY,
  at     bigint NOT NULL,
  rules  text NOT NULL
);

-- A summary holds as long as the session has the same state as when it was made, and until the time until.
CREATE TABLE contextgraph.summaries (
  session  bytea PRIMARY KEY,
  last_seq bigint NOT NULL,
  events   bigint NOT NULL,
  lost     bigint NOT NULL,
  steps    bigint NOT NULL,
  until    bigint NOT NULL,
  summary  text NOT NULL,
  words    bytea NOT NULL,
  more     bytea NOT NULL
);

-- Where rows are sent. Nobody sends when lease_until is NULL. moved counts how often rows were acknowledged.
CREATE TABLE contextgraph.destinations (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  owner       text NOT NULL DEFAULT '',
  moved       bigint NOT NULL DEFAULT 0,
  lease_until timestamptz
);

-- The sessions with rows that a destination has not acknowledged: those behind the row with the number number.
CREATE TABLE contextgraph.unsent (
  destination bigint NOT NULL REFERENCES contextgraph.destinations (id) ON DELETE CASCADE,
  session     bytea NOT NULL,
  number      bigint NOT NULL,
  PRIMARY KEY (destination, session)
);

CREATE TABLE contextgraph.dead_letters (
  destination bigint NOT NULL REFERENCES contextgraph.destinations (id) ON DELETE CASCADE,
  seq         bigint NOT NULL,
  session     bytea NOT NULL,
  event_key   bytea NOT NULL,
  bytes       bigint NOT NULL,
  code        text NOT NULL,
  reason      text NOT NULL,
  at          bigint NOT NULL,
  PRIMARY KEY (destination, seq)
);
