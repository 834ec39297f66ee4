SELECT key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id,
  branch, call_id, start_time, end_time, status, error_message, latency_ms,
  event_types, event_ids
FROM tech_nodes
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
ORDER BY position, key
