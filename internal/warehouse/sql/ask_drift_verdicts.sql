-- The verdicts of checks by day (UTC), tool and stage between @from and @to: of all
-- sessions, or of those of one application.
SELECT
  TIMESTAMP_TRUNC(checked_at, DAY) AS day,
  COALESCE(tool, '') AS tool,
  COALESCE(stage, '') AS stage,
  COUNT(*) AS checks,
  COUNTIF(verdict = 'safe') AS safe,
  COUNTIF(verdict = 'drift') AS drift,
  COUNTIF(verdict IS NULL OR verdict NOT IN ('safe', 'drift')) AS failed,
  COALESCE(SUM(entities_checked), 0) AS entities,
  COALESCE(SUM(stale_entities), 0) AS stale
FROM ({{template "checks" "window"}}
  )
WHERE checked_at BETWEEN @from AND @to
GROUP BY day, tool, stage
ORDER BY day, tool, stage
LIMIT @limit
