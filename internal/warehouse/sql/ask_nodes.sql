-- The steps @nodes of a session.
SELECT
  node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id,
  event_types, event_ids, start_time, end_time, status, error_message, latency_ms, position
FROM ({{template "tech_nodes" "found"}}
  )
WHERE start_time BETWEEN @from AND @to
  AND node_key IN UNNEST(@nodes)
ORDER BY position
