-- The rows of events that a model has not read yet, each with its prompt. They are
-- written to a table first, so that the model is asked about these rows and no others.
{{if .Pending}}INSERT INTO {{table .Pending}}
  (app_name, user_id, session_id, event_id, agent, invocation_id, trace_id, span_id, parent_span_id, event_type, seen_at, artifact_uri, truncated, attempt, pending, prompt)
{{end}}WITH asked AS (
  -- An attempt may be there twice: it counts once.
  SELECT app_name, user_id, session_id, event_id, MAX(attempt) AS times, LOGICAL_OR(status IN ('OK', 'EMPTY')) AS done
  FROM {{table "extracted_rows"}}
  WHERE extractor = @extractor
    AND processed_at >= @from_time{{if .Session}}
    AND app_name = @app_name AND user_id = @user_id AND session_id = @session_id{{end}}
  GROUP BY app_name, user_id, session_id, event_id
),
rows_in_scope AS (
  SELECT
    COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') AS app_name,
    COALESCE(user_id, '') AS user_id,
    COALESCE(session_id, '') AS session_id,
    event_id,
    COALESCE(agent, '') AS agent,
    COALESCE(invocation_id, '') AS invocation_id,
    COALESCE(trace_id, '') AS trace_id,
    COALESCE(span_id, '') AS span_id,
    COALESCE(parent_span_id, '') AS parent_span_id,
    event_type,
    timestamp AS seen_at,
    ARRAY(
      SELECT COALESCE(part.object_ref.uri, part.uri) FROM UNNEST(content_parts) AS part
      WHERE COALESCE(part.object_ref.uri, part.uri, '') != '' ORDER BY part.part_index LIMIT 1
    )[SAFE_OFFSET(0)] AS artifact_uri,
    -- What a person, a model or a tool said, by type. '{}', '[]' and 'null' say nothing.
    NULLIF(NULLIF(NULLIF(NULLIF(TRIM(CASE
      WHEN event_type IN ('USER_MESSAGE_RECEIVED', 'LLM_RESPONSE') THEN COALESCE(
        NULLIF(TRIM(JSON_VALUE(content, '$.text_summary')), ''),
        NULLIF(TRIM(JSON_VALUE(content, '$.response')), ''),
        JSON_VALUE(content, '$.text'))
      WHEN event_type = 'AGENT_RESPONSE' THEN COALESCE(
        NULLIF(TRIM(JSON_VALUE(attributes, '$.response_text')), ''),
        NULLIF(TRIM(JSON_VALUE(content, '$.response')), ''),
        TO_JSON_STRING(JSON_QUERY(content, '$.response')))
      WHEN event_type IN ('TOOL_STARTING', 'HITL_CONFIRMATION_REQUEST') THEN TO_JSON_STRING(JSON_QUERY(content, '$.args'))
      WHEN event_type = 'TOOL_COMPLETED' THEN TO_JSON_STRING(JSON_QUERY(content, '$.result'))
      WHEN event_type = 'STATE_DELTA' THEN TO_JSON_STRING(JSON_QUERY(attributes, '$.state_delta'))
      ELSE TO_JSON_STRING(content)
    END), ''), '{}'), '[]'), 'null') AS said,
    -- The texts of the parts are read where the content is empty: a message that came
    -- in parts, or of which only the parts were kept.
    ARRAY_TO_STRING(ARRAY(
      SELECT part.text FROM UNNEST(content_parts) AS part
      WHERE TRIM(part.text) != '' ORDER BY part.part_index
    ), '\n') AS parts
  FROM (
    SELECT *
    FROM {{events}}
    WHERE timestamp >= @from_time AND timestamp < @to_time{{if .Session}}
      AND (user_id = @user_id OR (@user_id = '' AND user_id IS NULL)) AND session_id = @session_id
      AND COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), '') = @app_name{{end}}
      AND event_type IN UNNEST(@event_types)
      -- Rows of writers that give them no id cannot be told apart.
      AND event_id IS NOT NULL
      -- A piece of a streamed answer is read with the whole.
      AND COALESCE(JSON_VALUE(attributes, '$.adk.partial'), '') != 'true'
    {{template "once"}}
  )
),
texts AS (
  SELECT rows_in_scope.*, COALESCE(said, NULLIF(parts, '')) AS text, COALESCE(asked.times, 0) + 1 AS attempt
  FROM rows_in_scope
  LEFT JOIN asked USING (app_name, user_id, session_id, event_id)
  WHERE NOT COALESCE(asked.done, FALSE)
)
SELECT
  app_name, user_id, session_id, event_id, agent, invocation_id, trace_id, span_id, parent_span_id, event_type, seen_at, artifact_uri,
  CHAR_LENGTH(text) > @max_text AS truncated,
  attempt,
  COUNT(*) OVER () AS pending,
  CONCAT(
    @instructions, '\n\nEntity types: ', TO_JSON_STRING(@entity_types),
    '\n\nBEGIN ', @fence, '\n', TO_JSON_STRING(SUBSTR(text, 1, @max_text)), '\nEND ', @fence, '\n') AS prompt
FROM texts
WHERE text IS NOT NULL
-- A row that failed before does not keep others from being read.
ORDER BY attempt, seen_at, event_id
LIMIT @max_rows
