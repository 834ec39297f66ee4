SELECT trace_id FROM agent_events
WHERE event_id = ?1 AND app_name = ?2 AND user_id = ?3 AND session_id = ?4
