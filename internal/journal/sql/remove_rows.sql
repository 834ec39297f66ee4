DELETE FROM agent_events INDEXED BY agent_events_session
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND seq <= ?4
