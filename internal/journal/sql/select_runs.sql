-- One row per run of a session: what it should have and what it has. run_seq
-- counts from 1 without gaps, so the highest is also the number of rows expected.
SELECT run_id,
  max(CASE WHEN event_type IN ('INVOCATION_COMPLETED', 'INVOCATION_ERROR') THEN 1 ELSE 0 END) AS completed,
  max(run_seq) AS expected,
  count(DISTINCT CASE WHEN run_seq > 0 THEN run_seq END) AS stored,
  min(timestamp) AS started,
  coalesce(max(invocation_id), '') AS invocation_id
FROM agent_events INDEXED BY agent_events_session
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND run_id <> ''
GROUP BY run_id
ORDER BY min(seq)
