-- What had changed when it was checked, between @from and @to, most often first: of all
-- sessions, or of those of one application. A change that several checks of a session
-- found counts once for each check.
SELECT
  alert.entity_type, alert.value, alert.drift_type,
  COUNT(*) AS alerts,
  COUNT(DISTINCT TO_JSON_STRING([checks.app_name, checks.user_id, checks.session_id])) AS sessions,
  AVG(alert.severity) AS severity,
  MAX(checks.checked_at) AS last
FROM ({{template "checks" "window"}}
  ) AS checks
CROSS JOIN UNNEST(checks.alerts) AS alert
WHERE checks.checked_at BETWEEN @from AND @to
GROUP BY alert.entity_type, alert.value, alert.drift_type
ORDER BY alerts DESC, alert.entity_type, alert.value, alert.drift_type
LIMIT @limit
