-- Which entities a decision rests on, and how each of them led to it: one row per
-- entity and step that saw it, with a shortest path from that step to the decision.
-- The search begins at the decision, the one node that is known. An entity that a step
-- saw before the decision and after it is also there as it was last seen before: earlier
-- has that sighting.
--
-- Shortest is by edges of every kind. The hops are the edges of kind informs and
-- resumes on that path; another path may have more edges and fewer hops. The edges of a
-- path are aggregated with LET, in the order of the path: GQL has no subquery over an
-- array.
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
    LIMIT 1)) AS earlier,
  chain.hops, chain.edges, chain.position,
  ARRAY(
    SELECT AS STRUCT key AS node_key, chain.kinds[OFFSET(place)] AS kind
    FROM UNNEST(chain.causes) AS key WITH OFFSET AS place
    ORDER BY place DESC
  ) AS path
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH ANY SHORTEST
      (decision:TechNode WHERE decision.node_key = @decision
        AND decision.app_name = @app AND decision.user_id = @user AND decision.session_id = @session
        AND decision.start_time BETWEEN @from AND @to AND decision.session_day BETWEEN @first_day AND @last_day)
      <-[caused:Caused WHERE caused.app_name = @app AND caused.user_id = @user AND caused.session_id = @session
        AND caused.occurred_at BETWEEN @from AND @to AND caused.session_day BETWEEN @first_day AND @last_day]-{0,{{.Edges}}}
      (step:TechNode)
      -[evaluated:Evaluated WHERE evaluated.app_name = @app AND evaluated.user_id = @user AND evaluated.session_id = @session
        AND evaluated.evaluated_at BETWEEN @from AND @to AND evaluated.session_day BETWEEN @first_day AND @last_day
        AND (evaluated.evaluated_at <= @decided OR evaluated.first_evaluated_at <= @decided)]->
      (entity:BizNode WHERE @entity = '' OR entity.canonical_key = @entity)
    LET
      hops = COUNTIF(caused.kind != 'contains'),
      causes = ARRAY_AGG(caused.from_key),
      kinds = ARRAY_AGG(caused.kind)
    RETURN
      entity.biz_key AS biz_key, step.position AS position, ARRAY_LENGTH(caused) AS edges, hops, causes, kinds
  ) AS chain
JOIN ({{template "biz_nodes" "found"}}
  ) AS biz ON biz.biz_key = chain.biz_key
WHERE biz.evaluated_at BETWEEN @from AND @to
ORDER BY chain.hops, chain.edges, chain.position DESC, biz.node_type, biz.node_value, biz.biz_key
LIMIT @limit
