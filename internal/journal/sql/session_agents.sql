-- name: insert_agent
INSERT INTO session_agents (session, agent) VALUES (?1, ?2)
ON CONFLICT DO NOTHING

-- name: remove_agents
-- Only of a session without rows.
DELETE FROM session_agents
WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM agent_events AS e INDEXED BY agent_events_session WHERE e.session = ?1)
