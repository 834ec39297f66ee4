-- The sessions with a step of an approval after step ?1, by their last rows.
SELECT DISTINCT s.last_seq
FROM approval_history AS h
JOIN approvals AS a ON a.id = h.approval_id
JOIN sessions AS s ON s.app_name = a.app_name AND s.user_id = a.user_id AND s.session_id = a.session_id
WHERE h.id > ?1
