-- The steps of a session that took longest, without those that only contain others.
SELECT kind, name, agent, round(latency_ms) AS ms, status, error_message, span_id
FROM tech_nodes
WHERE session_id = :session AND kind IN ('llm', 'tool')
ORDER BY latency_ms DESC
LIMIT 20;
