-- name: create_destination
-- A new destination begins with the oldest row there is.
INSERT INTO destinations (name, cursor) VALUES (?1, 0)
ON CONFLICT (name) DO NOTHING

-- name: select_destination
SELECT id, cursor, owner, lease_until FROM destinations
WHERE name = ?1

-- name: select_destinations
-- The destinations, and until when somebody sends to them.
SELECT name, CASE WHEN owner IS NOT NULL THEN lease_until END FROM destinations ORDER BY name

-- name: lease_destination
-- A new destination begins with the oldest row there is.
INSERT INTO destinations (name, cursor, owner, lease_until) VALUES (?1, 0, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until

-- name: release_destination
UPDATE destinations SET owner = NULL, lease_until = NULL
WHERE name = ?1 AND owner = ?2

-- name: advance_destination
UPDATE destinations SET cursor = ?2
WHERE id = ?1

-- name: forget_destination
-- Its dead letters go with it.
DELETE FROM destinations WHERE id = ?1

-- name: select_backlog
-- How many rows a destination lacks, counted up to ?3; the first of them, its time and
-- the last; how many dead letters it has; after how many rows it lacks a graph, counted up
-- to ?3 too. ?2 is the name under which the position of its graphs is.
WITH acknowledged AS MATERIALIZED (
  SELECT
    coalesce((SELECT cursor FROM destinations WHERE name = ?1), 0) AS seq,
    coalesce((SELECT cursor FROM destinations WHERE name = ?2), 9223372036854775807) AS graphs
)
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM agent_events WHERE seq > a.seq LIMIT +?3)),
  (SELECT seq FROM agent_events WHERE seq > a.seq ORDER BY seq LIMIT 1),
  (SELECT timestamp FROM agent_events WHERE seq > a.seq ORDER BY seq LIMIT 1),
  (SELECT max(seq) FROM agent_events),
  (SELECT count(*) FROM dead_letters AS l JOIN destinations AS d ON d.id = l.destination WHERE d.name = ?1),
  (SELECT count(*) FROM (
    SELECT 1 FROM agent_events INDEXED BY agent_events_approvals
    WHERE seq > a.graphs
      AND event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK')
    LIMIT +?3
  ))
FROM acknowledged AS a

-- name: select_laggard
-- The destination that is furthest behind.
SELECT name, cursor,
  (SELECT coalesce(max(seq), 0) FROM agent_events),
  (SELECT count(*) FROM dead_letters)
FROM destinations
ORDER BY cursor
LIMIT 1
