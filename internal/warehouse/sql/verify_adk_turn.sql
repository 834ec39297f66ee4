-- The rows of one turn in order, as the recipes of the documentation of the framework's BigQuery
-- Agent Analytics plugin read them ("Trace a specific conversation turn using trace_id").
SELECT timestamp, event_type, agent, JSON_VALUE(content, '$.response') AS summary
FROM {{events}}
WHERE trace_id = @trace
ORDER BY timestamp
