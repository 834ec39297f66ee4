-- The entities of a session with the times of the rows that saw them, in the words of the design of the context graph for the
-- plugin for Python.
SELECT
  b.node_type,
  b.node_value,
  b.confidence,
  b.span_id,
  b.artifact_uri,
  e.timestamp AS evaluated_at
FROM {{table "graph_biz_nodes"}} b
JOIN {{events}} e
  ON b.span_id = e.span_id
WHERE b.session_id = @session_id
ORDER BY e.timestamp ASC
