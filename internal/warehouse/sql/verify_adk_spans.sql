-- Which call of a turn took how long, by the recipe "Span Hierarchy & Duration Analysis" of the
-- framework's BigQuery Agent Analytics plugin.
SELECT
  span_id, parent_span_id, event_type, timestamp,
  CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64) AS duration_ms,
  COALESCE(JSON_VALUE(content, '$.tool'), 'LLM_CALL') AS operation
FROM {{events}}
WHERE event_type IN ('LLM_RESPONSE', 'TOOL_COMPLETED') AND trace_id = @trace
ORDER BY timestamp
