-- What models found in the steps of some sessions, by time.
SELECT
  app_name AS app, user_id AS user, session_id AS session,
  biz_key, node_key, span_id, event_id, node_type, node_value, canonical_key,
  TO_JSON_STRING(norm) AS norm, TO_JSON_STRING(attributes) AS attributes, TO_JSON_STRING(echoes) AS echoes,
  artifact_uri, confidence, source, evaluated_at
FROM ({{template "biz_nodes" "sessions"}}
  )
WHERE evaluated_at BETWEEN @from AND @to
  AND source = 'model'
ORDER BY evaluated_at, event_id, node_key, node_type, node_value
