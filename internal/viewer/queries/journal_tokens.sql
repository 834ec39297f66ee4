-- What each session used, by the version of the model that answered.
SELECT
  session_id, attributes ->> '$.model_version' AS model, count(*) AS answers,
  sum(content ->> '$.usage.prompt') AS prompt_tokens,
  sum(content ->> '$.usage.completion') AS completion_tokens
FROM agent_events
WHERE event_type = 'LLM_RESPONSE'
GROUP BY session_id, model
ORDER BY prompt_tokens DESC
LIMIT 100;
