-- One session with rows, as it is now.
SELECT s.app_name, s.user_id, s.session_id, s.first_time, s.last_time, s.last_seq, s.events,
  (SELECT json_group_array(a.agent ORDER BY a.agent) FROM session_agents AS a
    WHERE a.app_name = s.app_name AND a.user_id = s.user_id AND a.session_id = s.session_id) AS agents,
  (SELECT p.state FROM approvals AS p
    WHERE p.app_name = s.app_name AND p.user_id = s.user_id AND p.session_id = s.session_id
    ORDER BY p.number DESC LIMIT 1) AS approval
FROM sessions AS s
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.session_id = ?3 AND s.events > 0
