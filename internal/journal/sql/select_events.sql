SELECT seq, run_id, run_seq,
  timestamp, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, content, content_parts, attributes,
  latency_ms, status, error_message, is_truncated
FROM agent_events INDEXED BY agent_events_session
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND seq > ?4
ORDER BY seq
LIMIT +?5
