-- The rows of some sessions, each event once, with only what a line in a list is made of:
-- what the user said, the requests to humans, the answers and the checks, of the calls of tools
-- the arguments alone, and of model calls the names of the models and the tokens.
SELECT
  COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') AS app,
  COALESCE(user_id, '') AS user,
  session_id AS session,
  timestamp,
  event_id,
  event_type,
  agent,
  invocation_id,
  trace_id,
  span_id,
  parent_span_id,
  CASE
    WHEN event_type = 'LLM_RESPONSE' THEN TO_JSON_STRING(STRUCT(content.usage AS usage))
    WHEN event_type IN ('USER_MESSAGE_RECEIVED', 'WORLD_CHANGE_CHECK') OR STARTS_WITH(event_type, 'HITL_') THEN TO_JSON_STRING(content)
    WHEN STARTS_WITH(event_type, 'TOOL_') THEN TO_JSON_STRING(STRUCT(content.tool AS tool, content.args AS args))
  END AS content,
  CAST(NULL AS STRING) AS content_parts,
  CASE
    WHEN event_type IN ('LLM_REQUEST', 'LLM_RESPONSE') THEN TO_JSON_STRING(STRUCT(
      attributes.model AS model, attributes.model_version AS model_version, attributes.usage_metadata AS usage_metadata))
    WHEN attributes.adk IS NOT NULL THEN TO_JSON_STRING(STRUCT(attributes.adk AS adk))
  END AS attributes,
  CAST(NULL AS STRING) AS latency_ms,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64) AS run_seq
FROM (
  SELECT *
  FROM {{events}}
  WHERE timestamp BETWEEN @from AND @to
    AND session_id IN UNNEST(@sessions)
  {{template "once"}}
)
ORDER BY session, timestamp, run_seq, event_id
