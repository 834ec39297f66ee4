-- The rows of one session, each event once. Rows of the Python implementation may not
-- name their application; they belong to the session of any application that has its id.
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  invocation_id,
  trace_id,
  span_id,
  parent_span_id,
  IF(content IS NULL, NULL, TO_JSON_STRING(content)) AS content,
  TO_JSON_STRING(content_parts) AS content_parts,
  IF(attributes IS NULL, NULL, TO_JSON_STRING(attributes)) AS attributes,
  IF(latency_ms IS NULL, NULL, TO_JSON_STRING(latency_ms)) AS latency_ms,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64) AS run_seq
FROM {{unique}}
WHERE timestamp BETWEEN @from AND @to
  AND session_id = @session
  AND (user_id = @user OR (@user = '' AND user_id IS NULL))
  AND COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), @app) = @app
ORDER BY timestamp, run_seq, event_id
