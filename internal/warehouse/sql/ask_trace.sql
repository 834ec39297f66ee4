-- The edges between the steps of a session, in the order of the steps they lead to.
SELECT edges.from_key, edges.to_key, edges.kind
FROM {{table "caused_edges"}} AS edges
LEFT JOIN {{table "tech_nodes"}} AS nodes
  ON nodes.node_key = edges.to_key
  AND nodes.app_name = @app AND nodes.user_id = @user AND nodes.session_id = @session
  AND nodes.start_time BETWEEN @from AND @to
LEFT JOIN {{table "tech_nodes"}} AS causes
  ON causes.node_key = edges.from_key
  AND causes.app_name = @app AND causes.user_id = @user AND causes.session_id = @session
  AND causes.start_time BETWEEN @from AND @to
WHERE edges.app_name = @app AND edges.user_id = @user AND edges.session_id = @session
  AND edges.occurred_at BETWEEN @from AND @to
ORDER BY nodes.position, causes.position, edges.kind
LIMIT @limit
