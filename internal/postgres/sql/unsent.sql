-- name: select_unsent
-- What a destination lacks: of each session the rows behind a number, up to another one. One that does not exist lacks
-- everything.
SELECT s.key, s.app_name, s.user_id, s.session_id, u.number, s.number, s.last_seq
FROM contextgraph.sessions AS s
JOIN contextgraph.unsent AS u ON u.session = s.key
JOIN contextgraph.destinations AS d ON d.id = u.destination AND d.name = $1
WHERE s.number > u.number
UNION ALL
SELECT s.key, s.app_name, s.user_id, s.session_id, s.number - s.events, s.number, s.last_seq
FROM contextgraph.sessions AS s
WHERE s.events > 0 AND NOT EXISTS (SELECT 1 FROM contextgraph.destinations WHERE name = $1)
ORDER BY 7

-- name: advance_unsent
-- The sessions are locked.
UPDATE contextgraph.unsent AS u SET number = a.number
FROM unnest($2::bytea[], $3::bigint[]) AS a (session, number)
WHERE u.destination = $1 AND u.session = a.session AND u.number < a.number

-- name: remove_sent
DELETE FROM contextgraph.unsent AS u
USING contextgraph.sessions AS s
WHERE u.destination = $1 AND u.session = ANY ($2::bytea[]) AND s.key = u.session AND s.number <= u.number

-- name: select_oldest
SELECT min(r."timestamp") FROM unnest($1::bytea[], $2::bigint[]) AS u (session, number)
JOIN contextgraph.rows AS r ON r.session = u.session AND r.number = u.number + 1

-- name: select_unsent_rows
-- Of one session, in the columns of select_events: at most $4 rows with $5 bytes of payload, but at least one.
SELECT seq, run_seq, "timestamp", is_truncated, run_id, event_id, event_type, agent, invocation_id, trace_id, span_id,
  parent_span_id, status, error_message, content, content_parts, attributes, latency_ms, number
FROM (
  SELECT r.*, sum(r.size) OVER (ORDER BY r.number) AS bytes
  FROM (
    SELECT *, octet_length(content) + octet_length(content_parts) + octet_length(attributes) + octet_length(latency_ms)
      + octet_length(error_message) AS size
    FROM contextgraph.rows
    WHERE session = $1 AND number > $2 AND number <= $3
    ORDER BY number
    LIMIT $4
  ) AS r
) AS b
WHERE b.bytes <= $5 OR b.bytes = b.size
ORDER BY number

-- name: select_triggers
-- Of one session: those behind a row that the other destination has.
SELECT number FROM contextgraph.rows
WHERE session = $1 AND number > $2 AND number <= $3
  AND event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK')
ORDER BY number
