-- The rows of some sessions, each event once, session by session in the order of @sessions.
-- Rows of the Python implementation may not name their application: app is NULL in them. Whose
-- rows they are is found out where they are read; here users only narrow what is read.
SELECT
  COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name')) AS app,
  COALESCE(user_id, '') AS user,
  session_id AS session,
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
FROM (
  SELECT *
  FROM {{events}}
  WHERE timestamp BETWEEN @from AND @to
    AND session_id IN UNNEST(@sessions)
    AND (user_id IS NULL OR user_id IN UNNEST(@users))
  {{template "once"}}
)
JOIN UNNEST(@sessions) AS wanted WITH OFFSET AS place ON session_id = wanted
ORDER BY place, timestamp, run_seq, event_id
