-- The sessions with rows in a time whose id has this beginning and this end, the one with the
-- latest row first. An empty parameter selects all.
SELECT
  COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') AS app,
  COALESCE(user_id, '') AS user,
  session_id AS session,
  COUNT(DISTINCT event_id) AS events,
  MIN(timestamp) AS first,
  MAX(timestamp) AS last
FROM {{events}}
WHERE timestamp BETWEEN @from AND @to
  AND STARTS_WITH(session_id, @begins) AND ENDS_WITH(session_id, @ends)
  AND (@user = '' OR user_id = @user)
  AND (@app = '' OR COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') = @app)
GROUP BY app, user, session
ORDER BY last DESC
