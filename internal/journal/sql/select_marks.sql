-- Which state each session with rows is in: nothing that is read of its rows changes while these
-- numbers do not.
SELECT s.last_seq, s.last_time, s.events, coalesce(l.rows, 0)
FROM sessions AS s
LEFT JOIN lost_rows AS l ON l.app_name = s.app_name AND l.user_id = s.user_id AND l.session_id = s.session_id
WHERE s.events > 0
