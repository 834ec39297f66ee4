-- The sessions with a request that may still be answered, the one that expires first first.
SELECT app_name, user_id, session_id
FROM approvals INDEXED BY approvals_open
WHERE state IN ('pending', 'approved') AND expires_at > ?1
  AND state NOT IN ('rejected', 'expired', 'blocked', 'executed', 'failed')
GROUP BY app_name, user_id, session_id
ORDER BY min(expires_at)
LIMIT +?2
