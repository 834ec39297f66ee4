-- The verdicts of checks by day (UTC), tool and stage between @from and @to: of all
-- sessions, or of those of one application.
SELECT
  TIMESTAMP_TRUNC(checks.checked_at, DAY) AS day,
  COALESCE(checks.tool, '') AS tool,
  COALESCE(checks.stage, '') AS stage,
  COUNT(*) AS checks,
  COUNTIF(checks.verdict = 'safe') AS safe,
  COUNTIF(checks.verdict = 'drift') AS drift,
  COUNTIF(checks.verdict IS NULL OR checks.verdict NOT IN ('safe', 'drift')) AS failed,
  COALESCE(SUM(checks.entities_checked), 0) AS entities,
  COALESCE(SUM(checks.stale_entities), 0) AS stale
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH
      (made:WorldChangeCheck WHERE (@app = '' OR made.app_name = @app) AND made.checked_at BETWEEN @from AND @to AND made.session_day BETWEEN {{days}})
    RETURN
      made.checked_at AS checked_at, made.tool AS tool, made.stage AS stage, made.verdict AS verdict,
      made.entities_checked AS entities_checked, made.stale_entities AS stale_entities
  ) AS checks
GROUP BY day, tool, stage
ORDER BY day, tool, stage
LIMIT @limit
