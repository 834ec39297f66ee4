-- Which approvals rest on an entity, in all sessions or in those of one application,
-- latest first: the requests for a confirmation between @from and @to to which a path
-- leads from a step that saw the entity before, over at most @hops edges of kind
-- informs and resumes.
--
-- Of the sessions that saw the entity the latest @limit requests are searched, each
-- backwards as in ask_reasoning_chain and at most @rounds edges far; searched says how many
-- there are, incomplete whether a search ended before it was through. Both stand in every
-- row, and in one without a request where no approval was found.
WITH RECURSIVE
  seen AS (
    SELECT app_name, user_id, session_id, node_key, node_value, evaluated_at, first_evaluated_at, sightings
    FROM ({{template "biz_nodes" "window"}}
  )
    WHERE evaluated_at BETWEEN @from AND @to
      AND (canonical_key = @entity OR (@type != '' AND node_type = @type AND node_value = @value))
  ),
  sessions AS (
    SELECT app_name, user_id, session_id, MIN(LEAST(evaluated_at, COALESCE(first_evaluated_at, evaluated_at))) AS first_seen
    FROM seen
    GROUP BY app_name, user_id, session_id
  ),
  decisions AS (
    SELECT
      nodes.app_name, nodes.user_id, nodes.session_id, nodes.node_key, nodes.name, nodes.agent, nodes.call_id,
      nodes.decided_at, COUNT(*) OVER () AS searched
    FROM ({{template "tech_nodes" "window"}}
  ) AS nodes
    JOIN sessions
      ON sessions.app_name = nodes.app_name AND sessions.user_id = nodes.user_id
      AND sessions.session_id = nodes.session_id
    WHERE nodes.approval AND nodes.start_time BETWEEN @from AND @to AND nodes.decided_at >= sessions.first_seen
    ORDER BY nodes.decided_at DESC, nodes.node_key
    LIMIT @limit
  ),
  edges AS (
    SELECT app_name, user_id, session_id, from_key, to_key, IF(kind = 'contains', 1, 1000001) AS cost
    FROM ({{template "caused_edges" "window"}}
  )
    WHERE occurred_at BETWEEN @from AND @to
      AND session_id IN (SELECT session_id FROM decisions)
  ),
  searches AS (
    SELECT
      decisions.node_key AS decision,
      ARRAY_AGG(
        IF(edges.from_key IS NULL, NULL, STRUCT(edges.from_key, edges.to_key, edges.cost)) IGNORE NULLS) AS edges
    FROM decisions
    LEFT JOIN edges
      ON edges.app_name = decisions.app_name AND edges.user_id = decisions.user_id
      AND edges.session_id = decisions.session_id
    GROUP BY decisions.node_key
  ),
  walk AS (
    SELECT decision, 0 AS round, [STRUCT(decision AS node_key, 0 AS cost, TRUE AS fresh)] AS reached
    FROM searches
    UNION ALL
    SELECT
      walk.decision,
      walk.round + 1,
      ARRAY(
        SELECT AS STRUCT
          node_key, MIN(cost) AS cost, COALESCE(MIN(IF(known, cost, NULL)) > MIN(cost), TRUE) AS fresh
        FROM (
          SELECT r.node_key, r.cost, TRUE AS known
          FROM UNNEST(walk.reached) AS r
          UNION ALL
          SELECT e.from_key, r.cost + e.cost, FALSE
          FROM UNNEST(ARRAY(SELECT AS STRUCT f.node_key, f.cost FROM UNNEST(walk.reached) AS f WHERE f.fresh)) AS r
          JOIN UNNEST(searches.edges) AS e ON e.to_key = r.node_key
          WHERE DIV(r.cost + e.cost, 1000000) <= @hops
        )
        GROUP BY node_key
      ) AS reached
    FROM walk
    JOIN searches ON searches.decision = walk.decision
    WHERE walk.round < @rounds AND EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh)
  ),
  ended AS (
    SELECT walk.decision, walk.reached, EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh) AS incomplete
    FROM walk
    WHERE walk.round = @rounds OR NOT EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh)
  ),
  reached AS (
    SELECT ended.decision, r.node_key, r.cost
    FROM ended
    CROSS JOIN UNNEST(ended.reached) AS r
  ),
  search AS (
    SELECT
      1 AS one, COALESCE((SELECT MAX(searched) FROM decisions), 0) AS searched,
      COALESCE((SELECT LOGICAL_OR(incomplete) FROM ended), FALSE) AS incomplete
  ),
  uses AS (
    SELECT
      1 AS one, decisions.app_name, decisions.user_id, decisions.session_id, decisions.node_key, decisions.name,
      decisions.agent, decisions.call_id, decisions.decided_at, DIV(reached.cost, 1000000) AS hops, seen.node_value,
      IF(
        seen.evaluated_at <= decisions.decided_at, seen.evaluated_at,
        COALESCE(
          (SELECT MAX(s.evaluated_at) FROM UNNEST(seen.sightings) AS s WHERE s.evaluated_at <= decisions.decided_at),
          seen.first_evaluated_at)) AS evaluated_at
    FROM decisions
    JOIN reached ON reached.decision = decisions.node_key
    JOIN seen ON seen.node_key = reached.node_key
    WHERE seen.evaluated_at <= decisions.decided_at OR seen.first_evaluated_at <= decisions.decided_at
  )
SELECT
  uses.app_name, uses.user_id, uses.session_id, uses.node_key, uses.name, uses.agent, uses.call_id, uses.decided_at,
  MIN(uses.hops) AS hops,
  COUNT(uses.node_key) AS sightings,
  MAX(uses.evaluated_at) AS evaluated_at,
  ARRAY_AGG(uses.node_value ORDER BY uses.evaluated_at DESC, uses.node_value LIMIT 1)[OFFSET(0)] AS node_value,
  search.searched, search.incomplete
FROM search
LEFT JOIN uses ON uses.one = search.one
GROUP BY
  uses.app_name, uses.user_id, uses.session_id, uses.node_key, uses.name, uses.agent, uses.call_id, uses.decided_at,
  search.searched, search.incomplete
ORDER BY uses.decided_at DESC, uses.node_key
