-- The latest errors of tools, by the recipe "Error Analysis" of the framework's BigQuery Agent
-- Analytics plugin.
SELECT timestamp, agent, tool_name, tool_origin, error_message, total_ms
FROM {{view "tool_error"}}
ORDER BY timestamp DESC
LIMIT 20
