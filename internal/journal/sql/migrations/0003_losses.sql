-- The journal, version 3: losses are known to whoever opens the file.

-- How many rows of a session were lost before they could be stored. A run of which
-- not one row is left shows nowhere else.
CREATE TABLE lost_rows (
  app_name   TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  session_id TEXT NOT NULL,
  rows       INTEGER NOT NULL,
  PRIMARY KEY (app_name, user_id, session_id)
) STRICT, WITHOUT ROWID;

-- An approval keeps its session until it expires.
DROP INDEX approvals_open;
CREATE INDEX approvals_open ON approvals (app_name, user_id, session_id, state, expires_at)
  WHERE state NOT IN ('rejected', 'expired', 'blocked', 'executed', 'failed');
