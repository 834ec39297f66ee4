-- The sessions that may be removed, the one that was idle for longest first. All
-- conditions for the removal of a session stand here and nowhere else. ?1 selects the
-- sessions whose removal has begun, or has not; ?2 is the time before which the last row
-- has to be. A request that was never answered keeps its session until it expired before
-- that time; an action that has begun and not ended keeps it for ever. The session of an
-- agent that ran as a tool of another session stays as long as that one. ?3 selects the
-- sessions that every destination has, or, instead, those that one of them lacks a row
-- of or has refused one of: all that they wait for is replication. ?4 is how many to
-- return. ?5 is the time from which on the last row is: what was looked through before is
-- passed over.
SELECT s.app_name, s.user_id, s.session_id,
  CASE WHEN s.removing = 1 THEN s.removed_to ELSE s.last_seq END AS removed_to, s.last_time
FROM sessions AS s
WHERE (s.events > 0 OR s.removing = 1)
  AND s.removing = ?1
  AND s.last_time >= ?5 AND s.last_time < ?2
  AND CASE
    WHEN CASE WHEN s.removing = 1 THEN s.removed_to ELSE s.last_seq END
      > coalesce((SELECT min(cursor) FROM destinations), 9223372036854775807) THEN 1
    WHEN EXISTS (
      SELECT 1 FROM dead_letters AS l
      WHERE l.app_name = s.app_name AND l.user_id = s.user_id AND l.session_id = s.session_id
    ) THEN 1
    ELSE 0
  END = ?3
  AND NOT EXISTS (
    SELECT 1 FROM approvals AS a
    WHERE a.app_name = s.app_name AND a.user_id = s.user_id AND a.session_id = s.session_id
      AND a.state NOT IN ('rejected', 'expired', 'blocked', 'executed', 'failed')
      AND (a.state = 'executing' OR a.expires_at IS NULL OR a.expires_at >= ?2)
  )
  AND NOT EXISTS (
    SELECT 1 FROM child_sessions AS c
    CROSS JOIN sessions AS p ON p.app_name = c.app_name AND p.user_id = c.user_id AND p.session_id = c.session_id
    WHERE c.child_app_name = s.app_name AND c.child_user_id = s.user_id AND c.child_session_id = s.session_id
      AND p.removing = 0 AND p.events > 0
  )
ORDER BY s.last_time
LIMIT +?4
