-- In the columns of select_events.sql, then the session.
SELECT seq, run_id, run_seq,
  timestamp, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, content, content_parts, attributes,
  latency_ms, status, error_message, is_truncated,
  app_name, user_id, session_id
FROM agent_events
WHERE event_id = ?1
