-- The latest requests to humans and their answers, by the recipe "HITL Interaction Analysis" of the
-- framework's BigQuery Agent Analytics plugin.
SELECT timestamp, event_type, session_id, JSON_VALUE(content, '$.tool') AS hitl_tool, content
FROM {{events}}
WHERE event_type LIKE 'HITL_%'
ORDER BY timestamp DESC
LIMIT 20
