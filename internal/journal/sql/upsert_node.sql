INSERT INTO tech_nodes (
  key, app_name, user_id, session_id, trace_id, span_id, parent_span_id, kind,
  name, agent, invocation_id, branch, call_id, start_time, end_time, status,
  error_message, latency_ms, event_types, event_ids, position, digest
) VALUES (
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
  ?19, ?20, ?21, ?22
)
ON CONFLICT (key) DO UPDATE SET
  parent_span_id = excluded.parent_span_id, kind = excluded.kind, name = excluded.name,
  agent = excluded.agent, invocation_id = excluded.invocation_id, branch = excluded.branch,
  call_id = excluded.call_id, start_time = excluded.start_time, end_time = excluded.end_time,
  status = excluded.status, error_message = excluded.error_message,
  latency_ms = excluded.latency_ms, event_types = excluded.event_types,
  event_ids = excluded.event_ids, position = excluded.position, digest = excluded.digest
