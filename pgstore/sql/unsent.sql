-- name: select_unsent
-- What a destination lacks, as many rows of each session as there are numbers between. One that does not exist lacks
-- everything. The order of the sessions does not change as long as the caller has what it found: later ones go behind.
SELECT s.key, u.number, u.seq, s.number, s.last_seq
FROM contextgraph.sessions AS s
JOIN contextgraph.unsent AS u ON u.session = s.key
JOIN contextgraph.destinations AS d ON d.id = u.destination AND d.name = $1
WHERE s.number > u.number
UNION ALL
SELECT s.key, s.number - s.events, 0, s.number, s.last_seq
FROM contextgraph.sessions AS s
WHERE s.events > 0 AND NOT EXISTS (SELECT 1 FROM contextgraph.destinations WHERE name = $1)
ORDER BY 5

-- name: advance_unsent
-- The sessions are locked.
UPDATE contextgraph.unsent AS u SET number = a.number, seq = a.seq
FROM unnest($2::bytea[], $3::bigint[], $4::bigint[]) AS a (session, number, seq)
WHERE u.destination = $1 AND u.session = a.session AND u.number < a.number

-- name: remove_sent
DELETE FROM contextgraph.unsent AS u
USING contextgraph.sessions AS s
WHERE u.destination = $1 AND u.session = ANY ($2::bytea[]) AND s.key = u.session AND s.number <= u.number

-- name: select_sent_seq
SELECT coalesce(max(seq), 0) FROM contextgraph.rows WHERE session = $1 AND number <= $2

-- name: select_oldest
SELECT min(r."timestamp") FROM unnest($1::bytea[], $2::bigint[]) AS u (session, seq)
CROSS JOIN LATERAL (
  SELECT "timestamp" FROM contextgraph.rows WHERE session = u.session AND seq > u.seq ORDER BY seq LIMIT 1
) AS r

-- name: select_triggers
-- Of one session: those behind a row that the other destination has.
SELECT number FROM contextgraph.rows AS r
WHERE r.session = $1 AND r.seq > $2 AND r.number > $3 AND r.number <= $4
  AND r.event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK')
ORDER BY r.number
