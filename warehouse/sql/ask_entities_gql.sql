-- The entities that the steps of a session saw between @from and @to, by time: one row
-- per entity and step. An entity whose step is not in the dataset is there too, so the
-- pattern has no edge. Typed values are not properties of the graph.
SELECT
  biz.biz_key, biz.node_key, biz.span_id, biz.event_id, biz.node_type, biz.node_value, biz.canonical_key,
  TO_JSON_STRING(biz.norm) AS norm, TO_JSON_STRING(biz.attributes) AS attributes,
  biz.artifact_uri, biz.confidence, biz.source, biz.evaluated_at
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH
      (entity:BizNode WHERE entity.app_name = @app AND entity.user_id = @user AND entity.session_id = @session
        AND entity.evaluated_at BETWEEN @from AND @to)
    RETURN entity.biz_key AS biz_key
  ) AS found
JOIN {{table "extracted_biz_nodes"}} AS biz ON biz.biz_key = found.biz_key
WHERE biz.app_name = @app AND biz.user_id = @user AND biz.session_id = @session
  AND biz.evaluated_at BETWEEN @from AND @to
ORDER BY biz.evaluated_at, biz.event_id, biz.node_key, biz.node_type, biz.node_value, biz.source
LIMIT @limit
