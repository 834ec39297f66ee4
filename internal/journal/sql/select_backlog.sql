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
