-- The steps of a session with all that hangs on them, of the newest whole graphs: each step as the writer has
-- it that read most rows of it. Times inside of lists are texts as RFC 3339 has them, and what is NULL is an
-- empty list.
SELECT
  node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id, approval,
  IFNULL(event_types, []) AS event_types, IFNULL(event_ids, []) AS event_ids, start_time, end_time, decided_at, status,
  error_message, latency_ms, position, IFNULL(caused_by, []) AS caused_by,
  ARRAY(
    SELECT AS STRUCT
      seen.* REPLACE (
        {{template "rfc3339" "seen.evaluated_at"}} AS evaluated_at,
        {{template "rfc3339" "seen.first_evaluated_at"}} AS first_evaluated_at,
        ARRAY(
          SELECT AS STRUCT sighting.* REPLACE ({{template "rfc3339" "sighting.evaluated_at"}} AS evaluated_at)
          FROM UNNEST(seen.sightings) AS sighting WITH OFFSET AS place
          ORDER BY place
        ) AS sightings)
    FROM UNNEST(entities) AS seen WITH OFFSET AS place
    ORDER BY place
  ) AS entities,
  ARRAY(
    SELECT AS STRUCT made.* REPLACE ({{template "rfc3339" "made.checked_at"}} AS checked_at, IFNULL(made.alerts, []) AS alerts)
    FROM UNNEST(checks) AS made
    ORDER BY made.checked_at, made.check_id
  ) AS checks
FROM ({{template "steps" "found"}}
  )
ORDER BY position, start_time, node_key
