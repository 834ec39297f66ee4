SELECT seq, app_name, user_id, session_id FROM agent_events INDEXED BY agent_events_approvals
WHERE seq > ?1 AND seq <= ?2
  AND event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK')
ORDER BY seq
LIMIT +?3
