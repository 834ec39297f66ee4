-- name: insert_sessions
-- In the order of keys, as whoever locks them.
INSERT INTO contextgraph.sessions (key, app_name, user_id, session_id)
SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) AS k (key, app_name, user_id, session_id)
ORDER BY key
ON CONFLICT DO NOTHING

-- name: lock_sessions
SELECT 1 FROM contextgraph.sessions WHERE key = ANY ($1::bytea[]) ORDER BY key FOR NO KEY UPDATE

-- name: select_sessions
-- Newest first. An empty text and a bound of 0 select all.
SELECT s.app_name, s.user_id, s.session_id, s.first_time, s.last_time, s.last_seq, s.events, s.agents,
  coalesce((SELECT a.state FROM contextgraph.approvals AS a WHERE a.session = s.key ORDER BY a.number DESC LIMIT 1), '')
FROM contextgraph.sessions AS s
WHERE s.events > 0 AND ($1 = '' OR s.app_name = $1) AND ($2 = '' OR s.user_id = $2) AND ($3 = '' OR s.session_id = $3)
  AND starts_with(s.session_id, $4) AND s.last_time >= $5 AND s.last_time < $6 AND s.last_seq < $7
ORDER BY s.last_seq DESC
LIMIT $8 OFFSET $9

-- name: select_session
-- In the columns of select_sessions.
SELECT s.app_name, s.user_id, s.session_id, s.first_time, s.last_time, s.last_seq, s.events, s.agents,
  coalesce((SELECT a.state FROM contextgraph.approvals AS a WHERE a.session = s.key ORDER BY a.number DESC LIMIT 1), '')
FROM contextgraph.sessions AS s
WHERE s.events > 0 AND s.key = $1

-- name: select_last_seq
SELECT coalesce(max(last_seq), 0) FROM contextgraph.sessions WHERE events > 0

-- name: select_changes
-- By the numbers of each session: those of all rows are committed out of order.
SELECT coalesce(sum(number), 0)::bigint FROM contextgraph.sessions

-- name: select_stamp
SELECT last_seq, events, lost, (SELECT coalesce(sum(version), 0)::bigint FROM contextgraph.approvals WHERE session = $1)
FROM contextgraph.sessions
WHERE key = $1

-- name: select_removed
SELECT removed_to FROM contextgraph.sessions WHERE key = $1

-- name: select_removable
-- The session that may be removed, idle for longest first, and whose last row is before $1; one whose removal has begun
-- is finished first. With $2 those that only a destination keeps, which are counted.
SELECT s.key, CASE WHEN s.removing THEN s.removed_to ELSE s.last_seq END
FROM contextgraph.sessions AS s
WHERE (s.events > 0 OR s.removing) AND s.last_time < $1
  AND (EXISTS (SELECT 1 FROM contextgraph.unsent AS u WHERE u.session = s.key)
    OR EXISTS (SELECT 1 FROM contextgraph.dead_letters AS l WHERE l.session = s.key)) = $2
  AND NOT EXISTS (
    SELECT 1 FROM contextgraph.approvals AS a
    WHERE a.session = s.key AND a.open AND (a.state = 'executing' OR a.expires_at >= $1))
  AND NOT EXISTS (
    SELECT 1 FROM contextgraph.child_sessions AS c
    JOIN contextgraph.sessions AS p ON p.key = c.session
    WHERE c.child = s.key AND NOT p.removing AND p.events > 0)
ORDER BY s.removing DESC, s.last_time
LIMIT $3

-- name: mark_removal
UPDATE contextgraph.sessions SET removing = true, removed_to = $2, removed = removed + $3, events = events - $3 WHERE key = $1

-- name: finish_removal
-- A session that went on while it was being removed keeps its new rows.
UPDATE contextgraph.sessions AS s SET removing = false, agents = CASE WHEN s.events = 0 THEN '{}' ELSE s.agents END,
  first_time = coalesce((SELECT min(r."timestamp") FROM contextgraph.rows AS r WHERE r.session = s.key), s.first_time)
WHERE s.key = $1
