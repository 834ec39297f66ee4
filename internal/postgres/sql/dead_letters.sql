-- name: insert_dead_letter
INSERT INTO contextgraph.dead_letters (destination, seq, session, event_key, bytes, code, reason, at)
SELECT $1, r.seq, r.session, r.event_key, $4, $5, $6, $7
FROM contextgraph.rows AS r
WHERE r.session = $2 AND r.number = $3
ON CONFLICT (destination, seq) DO UPDATE SET bytes = excluded.bytes, code = excluded.code, reason = excluded.reason, at = excluded.at

-- name: select_dead_letters
SELECT l.seq, r.event_id, s.app_name, s.user_id, s.session_id, r.event_type, l.bytes, l.code, l.reason, l.at
FROM contextgraph.dead_letters AS l
JOIN contextgraph.destinations AS d ON d.id = l.destination AND d.name = $1
JOIN contextgraph.rows AS r ON r.session = l.session AND r.seq = l.seq
JOIN contextgraph.sessions AS s ON s.key = l.session
ORDER BY l.seq
LIMIT $2

-- name: select_dead_rows
-- In the columns of select_row.
SELECT r.seq, r.run_seq, r."timestamp", r.is_truncated, r.run_id, r.event_id, r.event_type, r.agent, r.invocation_id, r.trace_id,
  r.span_id, r.parent_span_id, r.status, r.error_message, r.content, r.content_parts, r.attributes, r.latency_ms, r.number,
  s.app_name, s.user_id, s.session_id
FROM contextgraph.dead_letters AS l
JOIN contextgraph.destinations AS d ON d.id = l.destination AND d.name = $1
JOIN contextgraph.rows AS r ON r.session = l.session AND r.seq = l.seq
JOIN contextgraph.sessions AS s ON s.key = l.session
WHERE l.seq > $2
ORDER BY l.seq
LIMIT $3

-- name: update_dead_letter
UPDATE contextgraph.dead_letters AS l SET bytes = $3, code = $4, reason = $5, at = $6
FROM contextgraph.destinations AS d
WHERE d.id = l.destination AND d.name = $1 AND l.seq = $2

-- name: delete_dead_letters
DELETE FROM contextgraph.dead_letters AS l
USING contextgraph.destinations AS d
WHERE d.id = l.destination AND d.name = $1 AND l.event_key = ANY ($2::bytea[])

-- name: count_dead_letters
SELECT count(*) FROM contextgraph.dead_letters AS l
JOIN contextgraph.destinations AS d ON d.id = l.destination AND d.name = $1
