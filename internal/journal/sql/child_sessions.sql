-- name: insert_child
INSERT INTO child_sessions (session, child, span, call) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO NOTHING

-- name: select_children
SELECT c.app_name, c.user_id, c.session_id, n.span, n.call
FROM sessions AS s
CROSS JOIN child_sessions AS n ON n.session = s.number
CROSS JOIN sessions AS c ON c.number = n.child
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.session_id = ?3
ORDER BY n.child, n.span

-- name: remove_children
-- Only of a session without rows.
DELETE FROM child_sessions
WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM agent_events AS e INDEXED BY agent_events_session WHERE e.session = ?1)
