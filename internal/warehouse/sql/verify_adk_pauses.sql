-- How long tools were paused, as the documentation of the framework's BigQuery Agent Analytics
-- plugin pairs each pause with the result that ends it, over the table
-- (https://google.github.io/adk-docs/integrations/bigquery-agent-analytics/, "TOOL_PAUSED and
-- pause/resume pairing"). Requests to a human do not pair in it: it leaves them out.
SELECT
  JSON_VALUE(paused.content, '$.tool') AS tool_name,
  JSON_VALUE(paused.attributes, '$.adk.pause_kind') AS pause_kind,
  paused.timestamp AS paused_at,
  resumed.timestamp AS resumed_at,
  TIMESTAMP_DIFF(resumed.timestamp, paused.timestamp, SECOND) AS paused_seconds
FROM {{events}} AS paused
JOIN {{events}} AS resumed
  ON resumed.event_type = 'TOOL_COMPLETED'
  AND paused.session_id = resumed.session_id
  AND paused.user_id = resumed.user_id
  AND JSON_VALUE(paused.attributes, '$.adk.function_call_id') = JSON_VALUE(resumed.attributes, '$.adk.function_call_id')
WHERE paused.event_type = 'TOOL_PAUSED'
  AND JSON_VALUE(paused.attributes, '$.adk.pause_kind') = 'tool'
ORDER BY paused_at
