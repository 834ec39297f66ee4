-- The runs of a session and the turns they are of.
SELECT DISTINCT invocation_id, run_id
FROM agent_events INDEXED BY agent_events_session
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND invocation_id <> '' AND run_id <> ''
