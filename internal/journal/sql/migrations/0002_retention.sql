-- The journal, version 2: sessions can be removed. Of a removed session the row in
-- sessions stays, so that whatever is recorded for it later is known to have lost
-- its beginning. The approvals ledger is never removed.

-- removed is the number of rows of the session that are gone. removed_to is the seq
-- up to which rows are gone or on their way out; removing is 1 while some of them,
-- or of the graph made from them, are left.
ALTER TABLE sessions ADD COLUMN removed    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN removed_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN removing   INTEGER NOT NULL DEFAULT 0;

-- The list of sessions does not show those without rows.
DROP INDEX sessions_last;
CREATE INDEX sessions_last ON sessions (last_seq) WHERE events > 0;

-- What there is to remove, the session idle for longest first.
CREATE INDEX sessions_idle ON sessions (removing, last_time) WHERE events > 0 OR removing = 1;

-- The approvals that keep their session: those in a state that is not final.
CREATE INDEX approvals_open ON approvals (app_name, user_id, session_id, state)
  WHERE state NOT IN ('rejected', 'expired', 'blocked', 'executed', 'failed');
