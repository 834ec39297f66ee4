-- The edges between the steps of a session, in the order of the steps they lead to.
SELECT edges.from_key, edges.to_key, edges.kind
FROM ({{template "caused_edges" "found"}}
  ) AS edges
LEFT JOIN ({{template "tech_nodes" "found"}}
  ) AS nodes
  ON nodes.node_key = edges.to_key
  AND nodes.start_time BETWEEN @from AND @to
LEFT JOIN ({{template "tech_nodes" "found"}}
  ) AS causes
  ON causes.node_key = edges.from_key
  AND causes.start_time BETWEEN @from AND @to
WHERE edges.occurred_at BETWEEN @from AND @to
ORDER BY nodes.position, causes.position, edges.kind
LIMIT @limit
