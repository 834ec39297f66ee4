-- name: lock_unsent
-- No rows are stored until the transaction ends: a new destination lacks all that are there, and gets those to come.
LOCK TABLE contextgraph.unsent IN SHARE ROW EXCLUSIVE MODE

-- name: create_destination
WITH made AS (
  INSERT INTO contextgraph.destinations (name) VALUES ($1)
  ON CONFLICT DO NOTHING
  RETURNING id
)
INSERT INTO contextgraph.unsent (destination, session, number)
SELECT m.id, s.key, s.number - s.events
FROM made AS m
CROSS JOIN contextgraph.sessions AS s
WHERE s.events > 0

-- name: select_destination
SELECT owner, coalesce(lease_until, 'epoch'), moved
FROM contextgraph.destinations WHERE name = $1

-- name: lease_destination
UPDATE contextgraph.destinations SET owner = $2, lease_until = clock_timestamp() + make_interval(secs => $3)
WHERE name = $1 AND (owner IN ('', $2) OR coalesce(lease_until <= clock_timestamp(), true))

-- name: release_destination
UPDATE contextgraph.destinations SET owner = '', lease_until = NULL WHERE name = $1 AND owner = $2

-- name: move_destination
UPDATE contextgraph.destinations SET moved = moved + 1 WHERE name = $1 AND owner = $2 AND $2 <> ''
RETURNING id, moved

-- name: forget_destination
DELETE FROM contextgraph.destinations
WHERE name = $1 AND (owner = '' OR coalesce(lease_until <= clock_timestamp(), true))
