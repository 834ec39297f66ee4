-- All rows of one session in order, without payloads: of model calls the names of the
-- models and the tokens stay. An answer is read only as far as the members named here.
SELECT seq, run_id, run_seq,
  timestamp, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id,
  CASE WHEN event_type = 'LLM_RESPONSE' AND json_valid(content)
    THEN json_object('usage', json(content -> '$.usage')) END,
  NULL,
  CASE WHEN event_type IN ('LLM_REQUEST', 'LLM_RESPONSE') AND json_valid(attributes)
    THEN json_object('model', attributes ->> '$.model', 'model_version', attributes ->> '$.model_version',
      'usage_metadata', json(attributes -> '$.usage_metadata')) END,
  NULL, status, error_message, is_truncated
FROM agent_events INDEXED BY agent_events_session
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
ORDER BY seq
