-- The steps of a session with all that hangs on them, of the newest whole graphs: each step as the writer has
-- it that read most rows of it.
SELECT
  node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id, approval, event_types,
  event_ids, start_time, end_time, decided_at, status, error_message, latency_ms, position, caused_by, entities, checks
FROM ({{template "steps" "found"}}
  )
ORDER BY position, start_time, node_key
