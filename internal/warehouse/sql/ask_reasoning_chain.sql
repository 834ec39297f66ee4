-- Which steps led to a decision, with the entities that each of them saw before it, and
-- the next step on its best path to the decision: one row per step and entity, and one
-- for a step without any. Best paths come first, so that the first rows hold all steps
-- of their paths. An entity that a step saw before the decision and after it is also
-- there as it was last seen before: earlier has that sighting.
--
-- A path costs a million for each edge of kind informs or resumes (a hop) and one for
-- each edge: the best path has the fewest hops, of those the fewest edges, and of those
-- it goes over the nearer, then the later step. The search relaxes the edges of the
-- session round by round, with all that is known in the array of one row: a recursive
-- term may not group rows, and without grouping every diamond in the graph would double
-- the paths. A round is one edge of a path. BigQuery ends a query with an error after 500
-- rounds, so the search ends after @rounds: incomplete says that there was more to do.
WITH RECURSIVE
  session AS (
    SELECT
      ARRAY_AGG(STRUCT(
        edges.from_key, edges.to_key, edges.kind, COALESCE(nodes.position, -1) AS position,
        IF(edges.kind = 'contains', 1, 1000001) AS cost)) AS edges
    FROM ({{template "caused_edges" "found"}}
  ) AS edges
    LEFT JOIN ({{template "tech_nodes" "found"}}
  ) AS nodes
      ON nodes.node_key = edges.to_key
      AND nodes.start_time BETWEEN @from AND @to
    WHERE edges.occurred_at BETWEEN @from AND @to
  ),
  walk AS (
    SELECT 0 AS round, [STRUCT(@decision AS node_key, 0 AS cost, '' AS next_key, '' AS kind, 0 AS step, -1 AS position, TRUE AS fresh)] AS reached
    UNION ALL
    SELECT
      walk.round + 1,
      ARRAY(
        SELECT AS STRUCT
          best.node_key, best.cost, best.next_key, best.kind, best.step, best.position,
          known IS NULL OR known > best.cost AS fresh
        FROM (
          SELECT
            ARRAY_AGG(STRUCT(node_key, cost, next_key, kind, step, position)
              ORDER BY cost, step DESC, position DESC, kind LIMIT 1)[OFFSET(0)] AS best,
            MIN(IF(known, cost, NULL)) AS known
          FROM (
            SELECT r.node_key, r.cost, r.next_key, r.kind, r.step, r.position, TRUE AS known
            FROM UNNEST(walk.reached) AS r
            UNION ALL
            SELECT e.from_key, r.cost + e.cost, e.to_key, e.kind, e.cost, e.position, FALSE
            FROM UNNEST(ARRAY(SELECT AS STRUCT f.node_key, f.cost FROM UNNEST(walk.reached) AS f WHERE f.fresh)) AS r
            JOIN UNNEST(session.edges) AS e ON e.to_key = r.node_key
            WHERE DIV(r.cost + e.cost, 1000000) <= @hops
          )
          GROUP BY node_key
        )
      ) AS reached
    FROM walk
    CROSS JOIN session
    WHERE walk.round < @rounds AND EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh)
  ),
  ended AS (
    SELECT walk.reached, EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh) AS incomplete
    FROM walk
    WHERE walk.round = @rounds OR NOT EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh)
  ),
  reached AS (
    SELECT r.node_key, r.cost, r.next_key, r.kind, ended.incomplete
    FROM ended
    CROSS JOIN UNNEST(ended.reached) AS r
  )
SELECT
  reached.node_key AS step, COALESCE(nodes.position, -1) AS position,
  DIV(reached.cost, 1000000) AS hops, MOD(reached.cost, 1000000) AS edges,
  reached.next_key, reached.kind,
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
  reached.incomplete
FROM reached
LEFT JOIN ({{template "tech_nodes" "found"}}
  ) AS nodes
  ON nodes.node_key = reached.node_key
  AND nodes.start_time BETWEEN @from AND @to
LEFT JOIN ({{template "biz_nodes" "found"}}
  ) AS biz
  ON biz.node_key = reached.node_key
  AND biz.evaluated_at BETWEEN @from AND @to
  AND (biz.evaluated_at <= @decided OR biz.first_evaluated_at <= @decided)
  AND (@entity = '' OR biz.canonical_key = @entity)
ORDER BY reached.cost, position DESC, biz.node_type, biz.node_value, biz.biz_key
LIMIT @limit
