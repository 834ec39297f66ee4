-- What a step led to, or with @backwards what led to it: every step that edges of any
-- kind reach within @hops edges, once, near ones first, with the step and the edge that
-- it was reached over, which is the earliest there is.
--
-- The steps reached so far stand in the array of one row: see ask_reasoning_chain.
WITH RECURSIVE
  session AS (
    SELECT
      ARRAY_AGG(STRUCT(
        IF(@backwards, edges.to_key, edges.from_key) AS near_key,
        IF(@backwards, edges.from_key, edges.to_key) AS far_key,
        edges.kind, nodes.position)) AS edges
    FROM ({{template "caused_edges" "found"}}
  ) AS edges
    LEFT JOIN ({{template "tech_nodes" "found"}}
  ) AS nodes
      ON nodes.node_key = IF(@backwards, edges.to_key, edges.from_key)
      AND nodes.start_time BETWEEN @from AND @to
    WHERE edges.occurred_at BETWEEN @from AND @to
  ),
  walk AS (
    SELECT 0 AS hops, [STRUCT(@node AS node_key, 0 AS hops, '' AS via, '' AS edge)] AS reached
    UNION ALL
    SELECT
      walk.hops + 1,
      ARRAY(
        SELECT AS STRUCT best.node_key, best.hops, best.via, best.edge
        FROM (
          SELECT
            ARRAY_AGG(STRUCT(node_key, hops, via, edge) ORDER BY hops, position, edge LIMIT 1)[OFFSET(0)] AS best
          FROM (
            SELECT r.node_key, r.hops, r.via, r.edge, 0 AS position
            FROM UNNEST(walk.reached) AS r
            UNION ALL
            SELECT e.far_key, r.hops + 1, e.near_key, e.kind, e.position
            FROM UNNEST(ARRAY(SELECT AS STRUCT f.node_key, f.hops FROM UNNEST(walk.reached) AS f WHERE f.hops = walk.hops)) AS r
            JOIN UNNEST(session.edges) AS e ON e.near_key = r.node_key
          )
          GROUP BY node_key
        )
      )
    FROM walk
    CROSS JOIN session
    WHERE walk.hops < @hops AND EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.hops = walk.hops)
  ),
  reached AS (
    SELECT r.node_key, r.hops, r.via, r.edge
    FROM walk
    CROSS JOIN UNNEST(walk.reached) AS r
    WHERE r.hops = walk.hops AND r.hops > 0
  )
SELECT
  nodes.node_key, nodes.trace_id, nodes.span_id, nodes.parent_span_id, nodes.kind, nodes.name, nodes.agent,
  nodes.invocation_id, nodes.branch, nodes.call_id, nodes.event_types, nodes.event_ids, nodes.start_time,
  nodes.end_time, nodes.status, nodes.error_message, nodes.latency_ms, nodes.position,
  reached.hops, reached.via, reached.edge
FROM reached
JOIN ({{template "tech_nodes" "found"}}
  ) AS nodes ON nodes.node_key = reached.node_key
WHERE nodes.start_time BETWEEN @from AND @to
ORDER BY reached.hops, nodes.position
LIMIT @limit
