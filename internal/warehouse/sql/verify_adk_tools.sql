-- Which tools were called how often, by the recipe "Tool Provenance Analysis" of the framework's
-- BigQuery Agent Analytics plugin.
SELECT tool_origin, tool_name, COUNT(*) AS call_count, AVG(total_ms) AS avg_latency_ms
FROM {{view "tool_completed"}}
GROUP BY tool_origin, tool_name
ORDER BY call_count DESC, tool_name
