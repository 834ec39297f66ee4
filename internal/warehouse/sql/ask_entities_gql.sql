-- The entities that the steps of a session saw between @from and @to and no later than
-- @decided, by time: one row per entity and step. An entity whose step is not in the
-- dataset is there too, so the pattern has no edge. Typed values are not properties of
-- the graph. An entity that a step saw before @decided and after it is also there as it
-- was last seen before: earlier has that sighting.
SELECT
  biz.biz_key, biz.node_key, biz.span_id, biz.event_id, biz.node_type, biz.node_value, biz.canonical_key,
  TO_JSON_STRING(biz.norm) AS norm, TO_JSON_STRING(biz.attributes) AS attributes, TO_JSON_STRING(biz.echoes) AS echoes,
  biz.artifact_uri, biz.confidence, biz.source, biz.evaluated_at,
  TO_JSON_STRING(ARRAY(
    SELECT AS STRUCT
      s.event_id, UNIX_MICROS(s.evaluated_at) AS evaluated_at, s.confidence, s.artifact_uri, s.source, s.norm, s.attributes, s.echoes
    FROM UNNEST(biz.sightings) AS s WITH OFFSET AS place
    WHERE s.evaluated_at <= @decided
    ORDER BY place DESC
    LIMIT 1)) AS earlier
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH
      (entity:BizNode WHERE entity.app_name = @app AND entity.user_id = @user AND entity.session_id = @session
        AND entity.evaluated_at BETWEEN @from AND @to AND entity.session_day BETWEEN @first_day AND @last_day
        AND (entity.evaluated_at <= @decided OR entity.first_evaluated_at <= @decided))
    RETURN entity.biz_key AS biz_key
  ) AS found
JOIN ({{template "biz_nodes" "found"}}
  ) AS biz ON biz.biz_key = found.biz_key
WHERE biz.evaluated_at BETWEEN @from AND @to
ORDER BY biz.evaluated_at, biz.event_id, biz.node_key, biz.node_type, biz.node_value, biz.source
LIMIT @limit
