-- When the graph of each of some sessions begins. Sessions without one have no row.
SELECT app_name AS app, user_id AS user, session_id AS session, MIN(start_time) AS first
FROM {{table "tech_nodes"}}
WHERE app_name IN UNNEST(@apps) AND user_id IN UNNEST(@users) AND session_id IN UNNEST(@sessions)
  AND start_time BETWEEN @from AND @to
GROUP BY app, user, session
