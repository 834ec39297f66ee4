-- In the columns of select_rows.sql.
SELECT seq, run_seq, timestamp, is_truncated,
  app_name, user_id, session_id, run_id, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, status, error_message,
  content, content_parts, attributes, latency_ms
FROM agent_events
WHERE event_id = ?1
