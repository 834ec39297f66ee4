-- One call of the model per row of a table that holds these rows alone. What a call
-- fails with stands in status, and the row stays.
INSERT INTO {{table .Answers}}
  (app_name, user_id, session_id, event_id, agent, invocation_id, trace_id, span_id, parent_span_id, seen_at, artifact_uri, truncated, attempt, pending, answer, status)
SELECT
  app_name, user_id, session_id, event_id, agent, invocation_id, trace_id, span_id, parent_span_id, seen_at, artifact_uri, truncated, attempt, pending,
  {{if .Schema}}IF(generated.entities IS NULL, NULL, TO_JSON_STRING(generated.entities)){{else}}generated.result{{end}} AS answer,
  generated.status
FROM (
  SELECT
    * EXCEPT (event_type, prompt),
    AI.GENERATE(
      prompt,{{with .Connection}}
      connection_id => '{{.}}',{{end}}
      endpoint => '{{.Endpoint}}',{{with .Schema}}
      output_schema => '{{.}}',{{end}}
      model_params => JSON '{"generation_config": {"temperature": 0{{with .Thinking}}, "thinking_config": {{.}}{{end}}}}'
    ) AS generated
  FROM {{table .Pending}}
)
