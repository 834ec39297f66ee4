SELECT 1 FROM agent_events WHERE event_id = ?1
