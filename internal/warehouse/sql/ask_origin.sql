-- The time of a session, and the step a causal chain begins at: the node @node, or the
-- first one with a message of the user where that is empty. Always one row; node_key is
-- NULL where there is no such node.
WITH
  nodes AS (
    SELECT node_key, start_time, end_time, position, event_types
    FROM ({{template "tech_nodes" "found"}}
  )
    WHERE start_time BETWEEN @from AND @to
  ),
  bounds AS (
    SELECT 1 AS one, COUNT(*) AS nodes, MIN(start_time) AS first, MAX(COALESCE(end_time, start_time)) AS last
    FROM nodes
  ),
  origin AS (
    SELECT 1 AS one, node_key
    FROM nodes
    WHERE IF(@node = '', 'USER_MESSAGE_RECEIVED' IN UNNEST(event_types), node_key = @node)
    QUALIFY ROW_NUMBER() OVER (ORDER BY position, start_time) = 1
  )
SELECT bounds.nodes, bounds.first, bounds.last, origin.node_key
FROM bounds
LEFT JOIN origin ON origin.one = bounds.one
