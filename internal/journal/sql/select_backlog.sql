-- How many rows a destination lacks, counted up to ?2; the first of them, its time and
-- the last; how many dead letters it has.
WITH acknowledged AS MATERIALIZED (
  SELECT coalesce((SELECT cursor FROM destinations WHERE name = ?1), 0) AS seq
)
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM agent_events WHERE seq > a.seq LIMIT ?2)),
  (SELECT seq FROM agent_events WHERE seq > a.seq ORDER BY seq LIMIT 1),
  (SELECT timestamp FROM agent_events WHERE seq > a.seq ORDER BY seq LIMIT 1),
  (SELECT max(seq) FROM agent_events),
  (SELECT count(*) FROM dead_letters AS l JOIN destinations AS d ON d.id = l.destination WHERE d.name = ?1)
FROM acknowledged AS a
