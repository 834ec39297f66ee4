-- How long humans were waited for, by kind of request, agent and tool, between @from
-- and @to: of all sessions, or of those of one application.
--
-- A step has the requests that were made in it, each with its first answer and the time
-- between the two; an answer whose request nobody recorded stands in the step it came in.
-- The graph has the sessions that were brought to it. The steps that began between @from
-- and @to count: an answer to a request from before @from does not, and one after @to is
-- none yet. A request or answer whose row names no id has no pair: it is unpaired.
WITH
  waits AS (
    SELECT
      request.kind, COALESCE(request.agent, '') AS agent, COALESCE(request.tool, '') AS tool,
      COALESCE(request.pair, '') = '' AS unpaired,
      COALESCE(request.pair, '') != '' AND COALESCE(request.answered_at <= @to, FALSE) AS answered,
      IF(request.answered_at <= @to, request.confirmed, NULL) AS confirmed,
      IF(request.answered_at <= @to, request.accepted, NULL) AS accepted,
      IF(request.answered_at <= @to, request.waited_ms, NULL) AS waited_ms
    FROM
      GRAPH_TABLE(
        {{graph}}
        MATCH
          (step:TechNode WHERE (@app = '' OR step.app_name = @app) AND step.start_time BETWEEN @from AND @to AND step.session_day BETWEEN {{days}})
        RETURN step.requests AS requests
      ) AS steps
    CROSS JOIN UNNEST(steps.requests) AS request
    WHERE COALESCE(request.asked_at, request.answered_at) BETWEEN @from AND @to
  ),
  ranked AS (
    SELECT
      *,
      PERCENTILE_CONT(waited_ms, 0.5) OVER (PARTITION BY kind, agent, tool) AS p50_ms,
      PERCENTILE_CONT(waited_ms, 0.95) OVER (PARTITION BY kind, agent, tool) AS p95_ms
    FROM waits
  )
SELECT
  kind, agent, tool,
  COUNTIF(NOT unpaired) AS requests,
  COUNTIF(unpaired) AS unpaired,
  COUNTIF(answered) AS answered,
  COUNTIF(confirmed) AS confirmed,
  COUNTIF(NOT confirmed) AS rejected,
  COUNTIF(accepted) AS accepted,
  COUNT(waited_ms) AS waited,
  AVG(waited_ms) AS avg_ms,
  ANY_VALUE(p50_ms) AS p50_ms,
  ANY_VALUE(p95_ms) AS p95_ms,
  MAX(waited_ms) AS max_ms
FROM ranked
GROUP BY kind, agent, tool
ORDER BY requests DESC, unpaired DESC, kind, agent, tool
LIMIT @limit
