-- How long humans were waited for, by kind of request, agent and tool, between @from
-- and @to: of all sessions, or of those of one application.
--
-- A request and its first answer are one wait. They share the confirmation id, or else
-- the id of the interrupt or the call. How long the wait was stands in the row of the answer
-- (adk.waited_ms); where it does not, it is the time between the two rows. A request
-- without an answer is pending. An answer to a request from before @from counts, with
-- the agent and the tool of its own row.
--
-- Rows of the plugin for Python have none of these ids. Nobody can tell which answer belongs
-- to which request: they are counted as unpaired and in no other way.
WITH
  named AS (
    SELECT
      REGEXP_EXTRACT(event_type, '^HITL_([A-Z]+)_REQUEST') AS kind,
      ENDS_WITH(event_type, '_COMPLETED') AS answered,
      timestamp, event_id, COALESCE(user_id, '') AS user_id, COALESCE(session_id, '') AS session_id,
      COALESCE(agent, '') AS agent,
      COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') AS app_name,
      NULLIF(COALESCE(
        JSON_VALUE(attributes, '$.adk.confirmation_id'),
        JSON_VALUE(attributes, '$.adk.interrupt_id'),
        JSON_VALUE(attributes, '$.adk.call_id'),
        JSON_VALUE(attributes, '$.adk.function_call_id')), '') AS id,
      COALESCE(JSON_VALUE(content, '$.args.originalFunctionCall.name'), JSON_VALUE(content, '$.tool'), '') AS tool,
      SAFE_CAST(JSON_VALUE(attributes, '$.adk.confirmed') AS BOOL) AS confirmed,
      SAFE_CAST(JSON_VALUE(attributes, '$.adk.accepted') AS BOOL) AS accepted,
      SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS FLOAT64) AS waited_ms
    FROM (
      SELECT *
      FROM {{events}}
      WHERE timestamp BETWEEN @from AND @to
        AND event_type IN (
          'HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED',
          'HITL_CREDENTIAL_REQUEST', 'HITL_CREDENTIAL_REQUEST_COMPLETED',
          'HITL_INPUT_REQUEST', 'HITL_INPUT_REQUEST_COMPLETED')
      {{template "once"}}
    )
    WHERE @app = ''
      OR COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') = @app
  ),
  requests AS (
    SELECT *
    FROM named
    WHERE NOT answered AND id IS NOT NULL
    QUALIFY ROW_NUMBER() OVER (PARTITION BY kind, app_name, user_id, session_id, id ORDER BY timestamp, event_id) = 1
  ),
  answers AS (
    SELECT *
    FROM named
    WHERE answered AND id IS NOT NULL
    QUALIFY ROW_NUMBER() OVER (PARTITION BY kind, app_name, user_id, session_id, id ORDER BY timestamp, event_id) = 1
  ),
  waits AS (
    SELECT
      COALESCE(requests.kind, answers.kind) AS kind,
      COALESCE(requests.agent, answers.agent) AS agent,
      COALESCE(requests.tool, answers.tool) AS tool,
      FALSE AS unpaired,
      answers.id IS NOT NULL AS answered,
      answers.confirmed, answers.accepted,
      COALESCE(
        answers.waited_ms,
        TIMESTAMP_DIFF(answers.timestamp, requests.timestamp, MICROSECOND) / 1000) AS waited_ms
    FROM requests
    FULL OUTER JOIN answers
      ON answers.kind = requests.kind AND answers.app_name = requests.app_name
      AND answers.user_id = requests.user_id AND answers.session_id = requests.session_id
      AND answers.id = requests.id
    UNION ALL
    SELECT kind, agent, tool, TRUE, FALSE, CAST(NULL AS BOOL), CAST(NULL AS BOOL), CAST(NULL AS FLOAT64)
    FROM named
    WHERE id IS NULL
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
