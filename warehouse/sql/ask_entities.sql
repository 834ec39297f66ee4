-- The entities that the steps of a session saw between @from and @to, by time: one row
-- per entity and step. An entity whose step is not in the dataset is there too.
SELECT
  biz_key, node_key, span_id, event_id, node_type, node_value, canonical_key,
  TO_JSON_STRING(norm) AS norm, TO_JSON_STRING(attributes) AS attributes,
  artifact_uri, confidence, source, evaluated_at
FROM {{table "extracted_biz_nodes"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session
  AND evaluated_at BETWEEN @from AND @to
ORDER BY evaluated_at, event_id, node_key, node_type, node_value, source
LIMIT @limit
