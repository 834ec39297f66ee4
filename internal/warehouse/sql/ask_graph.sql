-- The steps of a session with all that hangs on them, of the newest whole graphs: each step as the writer has
-- it that read most rows of it. What is NULL is an empty list.
SELECT
  node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id, approval,
  IFNULL(event_types, []) AS event_types, IFNULL(event_ids, []) AS event_ids, start_time, end_time, decided_at, status,
  error_message, latency_ms, position, IFNULL(caused_by, []) AS caused_by,
  ARRAY(
    SELECT AS STRUCT seen.* REPLACE (IFNULL(seen.sightings, []) AS sightings) FROM UNNEST(entities) AS seen WITH OFFSET AS place ORDER BY place
  ) AS entities,
  ARRAY(SELECT AS STRUCT * REPLACE (IFNULL(alerts, []) AS alerts) FROM UNNEST(checks) ORDER BY checked_at, check_id) AS checks
FROM ({{template "steps" "found"}}
  )
ORDER BY position, start_time, node_key
