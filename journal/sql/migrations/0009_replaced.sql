-- The journal, version 9: what a request for approval was asked in the place of. chain
-- counts the requests before it that were replaced so, difference is JSON.
ALTER TABLE approvals ADD COLUMN replaces   TEXT;
ALTER TABLE approvals ADD COLUMN chain      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN difference TEXT;

-- A request is replaced once.
CREATE UNIQUE INDEX approvals_replaces ON approvals (replaces) WHERE replaces IS NOT NULL;

-- The last request for a call is looked up before another one is made.
CREATE INDEX approvals_same_call ON approvals (app_name, user_id, session_id, tool, args_digest, number);
