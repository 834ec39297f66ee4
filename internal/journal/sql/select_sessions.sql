-- Newest first. An empty application, user or session matches all, and so does a bound
-- that is NULL. A session whose rows were removed is not listed.
SELECT s.app_name, s.user_id, s.session_id, s.first_time, s.last_time, s.last_seq, s.events,
  (SELECT json_group_array(a.agent ORDER BY a.agent) FROM session_agents AS a
    WHERE a.app_name = s.app_name AND a.user_id = s.user_id AND a.session_id = s.session_id) AS agents,
  (SELECT p.state FROM approvals AS p
    WHERE p.app_name = s.app_name AND p.user_id = s.user_id AND p.session_id = s.session_id
    ORDER BY p.number DESC LIMIT 1) AS approval
FROM sessions AS s
WHERE s.events > 0 AND (?1 = '' OR s.app_name = ?1) AND (?2 = '' OR s.user_id = ?2)
  AND (?5 = '' OR s.session_id = ?5) AND (?9 = '' OR s.session_id >= ?9 AND s.session_id < ?10)
  AND (?6 IS NULL OR s.last_time >= ?6) AND (?7 IS NULL OR s.last_time < ?7)
  AND s.last_seq < ?8 AND s.last_seq > ?11
ORDER BY s.last_seq DESC
LIMIT +?3 OFFSET ?4
