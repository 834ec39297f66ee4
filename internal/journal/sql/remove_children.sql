-- Only of a session without rows.
DELETE FROM child_sessions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND NOT EXISTS (
  SELECT 1 FROM agent_events AS e INDEXED BY agent_events_session
  WHERE e.app_name = ?1 AND e.user_id = ?2 AND e.session_id = ?3
)
