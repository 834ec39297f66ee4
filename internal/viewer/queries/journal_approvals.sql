-- Every approval, the newest first: where it stands, who decided, and how long it took.
SELECT
  datetime(requested_at / 1000000, 'unixepoch') AS requested,
  session_id, tool, state, verdict, approver,
  round((decided_at - requested_at) / 1e6, 1) AS waited_s,
  datetime(expires_at / 1000000, 'unixepoch') AS expires,
  id
FROM approvals
ORDER BY number DESC
LIMIT 100;
