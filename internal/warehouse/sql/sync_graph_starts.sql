-- When the graph of each of some sessions begins. Sessions without one have no row.
SELECT app_name AS app, user_id AS user, session_id AS session, MIN(start_time) AS first
FROM ({{template "tech_nodes" "sessions"}}
  )
WHERE start_time BETWEEN @from AND @to
GROUP BY app, user, session
