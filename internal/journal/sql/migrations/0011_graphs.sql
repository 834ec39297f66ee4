-- The journal, version 11: the graphs of sessions go where the rows go.

-- The rows after which the graph of a session says something new, and whose they are, are found
-- without reading a row.
CREATE INDEX agent_events_approvals ON agent_events (seq, app_name, user_id, session_id)
  WHERE event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK');

-- The last version of the graph of a session that was made for a destination, and the day under
-- which all of them stand there, in days since 1970.
CREATE TABLE graph_versions (
  app_name    TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  session_id  TEXT NOT NULL,
  destination TEXT NOT NULL,
  version     INTEGER NOT NULL,
  day         INTEGER NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id, destination)
) STRICT, WITHOUT ROWID;
