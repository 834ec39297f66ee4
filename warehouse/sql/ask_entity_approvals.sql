-- Which approvals rest on an entity, in all sessions or in those of one application,
-- latest first: the requests for a confirmation between @from and @to to which a path
-- leads from a step that saw the entity before, over at most @hops edges of kind
-- informs and resumes.
--
-- Of the sessions that saw the entity the latest @limit requests are searched, each
-- backwards as in ask_reasoning_chain; searched says how many there are.
WITH RECURSIVE
  seen AS (
    SELECT app_name, user_id, session_id, node_key, node_value, evaluated_at
    FROM {{table "extracted_biz_nodes"}}
    WHERE evaluated_at BETWEEN @from AND @to
      AND (@app = '' OR app_name = @app)
      AND (canonical_key = @entity OR (@type != '' AND node_type = @type AND node_value = @value))
  ),
  sessions AS (
    SELECT app_name, user_id, session_id, MIN(evaluated_at) AS first_seen
    FROM seen
    GROUP BY app_name, user_id, session_id
  ),
  decisions AS (
    SELECT
      nodes.app_name, nodes.user_id, nodes.session_id, nodes.node_key, nodes.name, nodes.agent, nodes.call_id,
      nodes.decided_at, COUNT(*) OVER () AS searched
    FROM {{table "tech_nodes"}} AS nodes
    JOIN sessions
      ON sessions.app_name = nodes.app_name AND sessions.user_id = nodes.user_id
      AND sessions.session_id = nodes.session_id
    WHERE nodes.approval AND nodes.start_time BETWEEN @from AND @to AND nodes.decided_at >= sessions.first_seen
    ORDER BY nodes.decided_at DESC, nodes.node_key
    LIMIT @limit
  ),
  edges AS (
    SELECT app_name, user_id, session_id, from_key, to_key, IF(kind = 'contains', 1, 1000001) AS cost
    FROM {{table "caused_edges"}}
    WHERE occurred_at BETWEEN @from AND @to
      AND (@app = '' OR app_name = @app)
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
    SELECT decision, [STRUCT(decision AS node_key, 0 AS cost, TRUE AS fresh)] AS reached
    FROM searches
    UNION ALL
    SELECT
      walk.decision,
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
    WHERE EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS r WHERE r.fresh)
  ),
  reached AS (
    SELECT walk.decision, r.node_key, r.cost
    FROM walk
    CROSS JOIN UNNEST(walk.reached) AS r
    WHERE NOT EXISTS (SELECT 1 FROM UNNEST(walk.reached) AS f WHERE f.fresh)
  )
SELECT
  decisions.app_name, decisions.user_id, decisions.session_id, decisions.node_key, decisions.name, decisions.agent,
  decisions.call_id, decisions.decided_at,
  MIN(DIV(reached.cost, 1000000)) AS hops,
  COUNT(*) AS sightings,
  MAX(seen.evaluated_at) AS evaluated_at,
  ARRAY_AGG(seen.node_value ORDER BY seen.evaluated_at DESC, seen.node_value LIMIT 1)[OFFSET(0)] AS node_value,
  ANY_VALUE(decisions.searched) AS searched
FROM decisions
JOIN reached ON reached.decision = decisions.node_key
JOIN seen ON seen.node_key = reached.node_key AND seen.evaluated_at <= decisions.decided_at
GROUP BY
  decisions.app_name, decisions.user_id, decisions.session_id, decisions.node_key, decisions.name, decisions.agent,
  decisions.call_id, decisions.decided_at
ORDER BY decisions.decided_at DESC, decisions.node_key
