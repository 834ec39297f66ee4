-- A row that is delivered twice is stored once: event_id remembers it.
INSERT INTO agent_events (
  app_name, run_id, run_seq,
  timestamp, event_id, event_type, agent, session_id, invocation_id, user_id,
  trace_id, span_id, parent_span_id, content, content_parts, attributes,
  latency_ms, status, error_message, is_truncated
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
ON CONFLICT (event_id) DO NOTHING
