-- The destination that is furthest behind.
SELECT name, cursor,
  (SELECT coalesce(max(seq), 0) FROM agent_events),
  (SELECT count(*) FROM dead_letters)
FROM destinations
ORDER BY cursor
LIMIT 1
