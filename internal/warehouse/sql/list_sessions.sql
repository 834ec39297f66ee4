-- One page of the sessions with rows in a time, the one with the latest row first, behind the
-- session that @last, @after_app, @after_user and @after_session name. An empty parameter
-- selects all.
SELECT app, user, session, first, last
FROM (
  SELECT
    COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') AS app,
    COALESCE(user_id, '') AS user,
    session_id AS session,
    MIN(timestamp) AS first,
    MAX(timestamp) AS last
  FROM {{events}}
  WHERE timestamp BETWEEN @from AND @to
    AND session_id IS NOT NULL
    AND (@session = '' OR session_id = @session)
    AND (@user = '' OR user_id = @user)
  GROUP BY app, user, session
)
WHERE (@app = '' OR app = @app)
  AND last >= @ends_from AND last < @ends_before
  AND (
    last < @last
    OR last = @last AND (
      app > @after_app
      OR app = @after_app AND (user > @after_user OR user = @after_user AND session > @after_session)
    )
  )
ORDER BY last DESC, app, user, session
LIMIT @limit
