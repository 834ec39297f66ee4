-- Of one session, in order. The content of checks is long and says nothing here that the
-- attributes do not; with ?4 = 0 that of requests and answers is left out as well.
SELECT seq, run_id, run_seq,
  timestamp, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id,
  CASE WHEN event_type = 'USER_MESSAGE_RECEIVED' OR (?4 AND event_type <> 'WORLD_CHANGE_CHECK') THEN content END,
  NULL, CASE WHEN event_type <> 'USER_MESSAGE_RECEIVED' THEN attributes END,
  NULL, status, error_message, is_truncated
FROM agent_events INDEXED BY agent_events_milestones
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
  AND event_type IN (
    'USER_MESSAGE_RECEIVED', 'WORLD_CHANGE_CHECK',
    'HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED',
    'HITL_CREDENTIAL_REQUEST', 'HITL_CREDENTIAL_REQUEST_COMPLETED',
    'HITL_INPUT_REQUEST', 'HITL_INPUT_REQUEST_COMPLETED')
ORDER BY seq
