-- A session that went on while it was being removed keeps its new rows. What is left is
-- counted: if somebody deleted rows by hand, the session would otherwise be due for ever.
UPDATE sessions SET removing = 0, (events, last_seq, first_time) = (
    SELECT count(*), max(coalesce(max(e.seq), 0), last_seq),
      coalesce((
        SELECT f.timestamp FROM agent_events AS f INDEXED BY agent_events_session
        WHERE f.app_name = ?1 AND f.user_id = ?2 AND f.session_id = ?3
        ORDER BY f.seq LIMIT 1
      ), first_time)
    FROM agent_events AS e INDEXED BY agent_events_session
    WHERE e.app_name = ?1 AND e.user_id = ?2 AND e.session_id = ?3
  )
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
