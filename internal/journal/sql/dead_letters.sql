-- name: insert_dead_letter
-- What names the row is read from the row.
INSERT INTO dead_letters (
  destination, seq, session, event_id, app_name, user_id, session_id, event_type, bytes, code, reason, at
)
SELECT ?1, e.seq, e.session, e.event_id, e.app_name, e.user_id, e.session_id, e.event_type, ?3, ?4, ?5, ?6
FROM agent_events AS e
WHERE e.seq = ?2
ON CONFLICT (destination, seq) DO UPDATE SET
  bytes = excluded.bytes, code = excluded.code, reason = excluded.reason, at = excluded.at

-- name: select_dead_letters
SELECT l.seq, l.event_id, l.app_name, l.user_id, l.session_id, l.event_type, l.bytes, l.code, l.reason, l.at
FROM dead_letters AS l
JOIN destinations AS d ON d.id = l.destination
WHERE d.name = ?1
ORDER BY l.seq
LIMIT +?2

-- name: select_dead_rows
-- The rows of dead letters, in the columns of select_rows.
SELECT e.seq, e.run_seq, e.timestamp, e.is_truncated,
  e.app_name, e.user_id, e.session_id, e.run_id, e.event_id, e.event_type, e.agent, e.invocation_id,
  e.trace_id, e.span_id, e.parent_span_id, e.status, e.error_message,
  e.content, e.content_parts, e.attributes, e.latency_ms
FROM dead_letters AS l
JOIN destinations AS d ON d.id = l.destination
JOIN agent_events AS e ON e.seq = l.seq
WHERE d.name = ?3 AND l.seq > ?1
ORDER BY l.seq
LIMIT +?2

-- name: update_dead_letter
UPDATE dead_letters SET bytes = ?3, code = ?4, reason = ?5, at = ?6
WHERE destination = ?1 AND seq = ?2

-- name: delete_dead_letter
DELETE FROM dead_letters WHERE destination = ?1 AND event_id = ?2
