-- How long models and tools take on average, by the recipe "Latency Analysis" of the framework's
-- BigQuery Agent Analytics plugin.
SELECT event_type, AVG(CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64)) AS avg_latency_ms
FROM {{events}}
WHERE event_type IN ('LLM_RESPONSE', 'TOOL_COMPLETED')
GROUP BY event_type
ORDER BY event_type
