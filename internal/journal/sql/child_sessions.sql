-- name: insert_child
INSERT INTO child_sessions (session, child) VALUES (?1, ?2)
ON CONFLICT DO NOTHING

-- name: remove_children
-- Only of a session without rows.
DELETE FROM child_sessions
WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM agent_events AS e INDEXED BY agent_events_session WHERE e.session = ?1)
