-- The entities that the steps of a session saw between @from and @to and no later than
-- @decided, by time: one row per entity and step. An entity whose step is not in the
-- dataset is there too. One that a step saw before @decided and after it is also there as
-- it was last seen before: earlier has that sighting.
SELECT
  biz_key, node_key, span_id, event_id, node_type, node_value, canonical_key,
  TO_JSON_STRING(norm) AS norm, TO_JSON_STRING(attributes) AS attributes, TO_JSON_STRING(echoes) AS echoes,
  artifact_uri, confidence, source, evaluated_at,
  TO_JSON_STRING(ARRAY(
    SELECT AS STRUCT
      s.event_id, UNIX_MICROS(s.evaluated_at) AS evaluated_at, s.confidence, s.artifact_uri, s.source, s.norm, s.attributes, s.echoes
    FROM UNNEST(sightings) AS s WITH OFFSET AS place
    WHERE s.evaluated_at <= @decided
    ORDER BY place DESC
    LIMIT 1)) AS earlier
FROM ({{template "biz_nodes" "found"}}
  )
WHERE evaluated_at BETWEEN @from AND @to
  AND (evaluated_at <= @decided OR first_evaluated_at <= @decided)
ORDER BY evaluated_at, event_id, node_key, node_type, node_value, source
LIMIT @limit
