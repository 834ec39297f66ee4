-- name: insert_children
INSERT INTO contextgraph.child_sessions (session, child, span_key, span, call)
SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::text[], $5::text[])
ON CONFLICT DO NOTHING

-- name: select_children
SELECT s.app_name, s.user_id, s.session_id, c.span, c.call
FROM contextgraph.child_sessions AS c
JOIN contextgraph.sessions AS s ON s.key = c.child
WHERE c.session = $1
ORDER BY c.child, c.span

-- name: remove_children
DELETE FROM contextgraph.child_sessions AS c
WHERE c.session = $1 AND NOT EXISTS (SELECT 1 FROM contextgraph.rows AS r WHERE r.session = $1)
