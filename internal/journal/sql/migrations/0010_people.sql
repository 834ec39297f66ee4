-- The journal, version 10: who asks, and who approves.

-- requester_authenticated says that the program knows the requester. approvers is how many people have
-- to approve, consents is a JSON list of those who have. change is the wish of the person who
-- rejected. overridden says that the permit was given although sources were down.
ALTER TABLE approvals ADD COLUMN requester_authenticated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN approvers               INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN consents                TEXT;
ALTER TABLE approvals ADD COLUMN change                  TEXT;
ALTER TABLE approvals ADD COLUMN overridden              INTEGER NOT NULL DEFAULT 0;

-- override says that the step goes on although the check before it failed.
ALTER TABLE approval_history ADD COLUMN override INTEGER NOT NULL DEFAULT 0;

-- The last wish for a change is looked up before a request is made.
CREATE INDEX approvals_change ON approvals (app_name, user_id, session_id, tool, number) WHERE change IS NOT NULL;
