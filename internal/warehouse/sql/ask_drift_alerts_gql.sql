-- What had changed when it was checked, between @from and @to, most often first: of all
-- sessions, or of those of one application. A change that several checks of a session
-- found counts once for each check.
SELECT
  alert.entity_type, alert.value, alert.drift_type,
  COUNT(*) AS alerts,
  COUNT(DISTINCT TO_JSON_STRING([checks.app_name, checks.user_id, checks.session_id])) AS sessions,
  AVG(alert.severity) AS severity,
  MAX(checks.checked_at) AS last
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH
      (made:WorldChangeCheck WHERE (@app = '' OR made.app_name = @app) AND made.checked_at BETWEEN @from AND @to AND made.session_day BETWEEN {{days}})
    RETURN
      made.app_name AS app_name, made.user_id AS user_id, made.session_id AS session_id,
      made.checked_at AS checked_at, made.alerts AS alerts
  ) AS checks
CROSS JOIN UNNEST(checks.alerts) AS alert
GROUP BY alert.entity_type, alert.value, alert.drift_type
ORDER BY alerts DESC, alert.entity_type, alert.value, alert.drift_type
LIMIT @limit
