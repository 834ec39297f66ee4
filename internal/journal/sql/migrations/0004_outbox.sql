-- The journal, version 4: its rows are sent to other places.

-- The name of this journal wherever its rows go: 32 hexadecimal digits.
CREATE TABLE journal (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id   TEXT NOT NULL
) STRICT;

INSERT INTO journal (only, id) VALUES (1, lower(hex(randomblob(16))));

-- Where rows are sent. Every row up to cursor is acknowledged there or stands in
-- dead_letters. state belongs to the one who sends: what it needs, beside the cursor,
-- to go on. owner may send until lease_until; both are NULL when nobody sends.
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

-- Rows that a destination refuses for what they hold. bytes is the size as sent, code
-- and reason are the words of the server.
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

-- The numbers that say whether a session is replicated stand in the index, so that
-- those that wait for it are passed over without reading them.
DROP INDEX sessions_idle;
CREATE INDEX sessions_idle ON sessions (removing, last_time, last_seq, removed_to, events) WHERE events > 0 OR removing = 1;
