-- Tokens of a model call on average, by the recipe "Token usage analysis" of the framework's
-- BigQuery Agent Analytics plugin.
SELECT
  AVG(usage_total_tokens) AS avg_tokens,
  AVG(usage_prompt_tokens) AS avg_prompt_tokens,
  AVG(usage_completion_tokens) AS avg_completion_tokens
FROM {{view "llm_response"}}
