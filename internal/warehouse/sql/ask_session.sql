-- The time and size of a session, and its decision: the node @decision, or the latest
-- request for a confirmation where that is empty. Always one row; node_key is NULL
-- where there is no such node.
WITH
  nodes AS (
    SELECT node_key, start_time, end_time, decided_at, position, approval, event_ids, event_types
    FROM ({{template "tech_nodes" "found"}}
  )
    WHERE start_time BETWEEN @from AND @to
  ),
  bounds AS (
    SELECT 1 AS one, COUNT(*) AS nodes, MIN(start_time) AS first, MAX(COALESCE(end_time, start_time)) AS last
    FROM nodes
  ),
  decision AS (
    SELECT 1 AS one, node_key, COALESCE(decided_at, end_time, start_time) AS decided_at, event_ids
    FROM nodes
    WHERE IF(@decision = '', COALESCE(approval, FALSE), node_key = @decision)
    QUALIFY ROW_NUMBER() OVER (ORDER BY decided_at DESC, position DESC) = 1
  )
SELECT bounds.nodes, bounds.first, bounds.last, decision.node_key, decision.decided_at, decision.event_ids
FROM bounds
LEFT JOIN decision ON decision.one = bounds.one
