-- name: number_session
-- A session gets its number with the first row, approval or loss of it.
INSERT INTO sessions (app_name, user_id, session_id) VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING

-- name: select_number
SELECT number FROM sessions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3

-- name: update_session
-- The times of a session that was removed are those of its new rows.
UPDATE sessions SET
  first_time = CASE WHEN events = 0 THEN ?2 ELSE min(first_time, ?2) END,
  last_time  = CASE WHEN events = 0 THEN ?3 ELSE max(last_time, ?3) END,
  last_seq   = max(last_seq, ?4),
  events     = events + ?5
WHERE number = ?1

-- name: select_session
-- One session with rows, as it is now.
SELECT app_name, user_id, session_id, first_time, last_time, last_seq, events, agents, approval
FROM listed_sessions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3

-- name: select_sessions
-- Newest first. An empty application, user or session matches all, and so does a bound
-- that is NULL.
SELECT app_name, user_id, session_id, first_time, last_time, last_seq, events, agents, approval
FROM listed_sessions
WHERE (?1 = '' OR app_name = ?1) AND (?2 = '' OR user_id = ?2)
  AND (?5 = '' OR session_id = ?5) AND (?9 = '' OR session_id >= ?9 AND session_id < ?10)
  AND (?6 IS NULL OR last_time >= ?6) AND (?7 IS NULL OR last_time < ?7)
  AND last_seq < ?8
ORDER BY last_seq DESC
LIMIT +?3 OFFSET ?4

-- name: select_removed
SELECT removed, removed_to, removing FROM sessions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3

-- name: select_removable
-- The sessions that may be removed, the one that was idle for longest first. All
-- conditions for the removal of a session stand here and nowhere else. ?1 selects the
-- sessions whose removal has begun, or has not; ?2 is the time before which the last row
-- has to be. A request that was never answered keeps its session until it expired before
-- that time; an action that has begun and not ended keeps it for ever. The session of an
-- agent that ran as a tool of another session stays as long as that one. ?3 selects the
-- sessions that every destination has, or, instead, those that one of them lacks a row
-- of or has refused one of: all that they wait for is replication. ?4 is how many to
-- return. ?5 is the time from which on the last row is: what was looked through before is
-- passed over.
SELECT s.number,
  CASE WHEN s.removing = 1 THEN s.removed_to ELSE s.last_seq END AS removed_to, s.last_time
FROM sessions AS s
WHERE (s.events > 0 OR s.removing = 1)
  AND s.removing = ?1
  AND s.last_time >= ?5 AND s.last_time < ?2
  AND CASE
    WHEN CASE WHEN s.removing = 1 THEN s.removed_to ELSE s.last_seq END
      > coalesce((SELECT min(cursor) FROM destinations), 9223372036854775807) THEN 1
    WHEN EXISTS (
      SELECT 1 FROM dead_letters AS l
      WHERE l.session = s.number
    ) THEN 1
    ELSE 0
  END = ?3
  AND NOT EXISTS (
    SELECT 1 FROM approvals AS a
    WHERE a.session = s.number
      AND a.open = 1
      AND (a.state = 'executing' OR a.expires_at IS NULL OR a.expires_at >= ?2)
  )
  AND NOT EXISTS (
    SELECT 1 FROM child_sessions AS c
    CROSS JOIN sessions AS p ON p.number = c.session
    WHERE c.child = s.number
      AND p.removing = 0 AND p.events > 0
  )
ORDER BY s.last_time
LIMIT +?4

-- name: mark_removal
-- In the transaction that removes ?3 rows: the session is never without a part of
-- its rows and without this mark.
UPDATE sessions SET removing = 1, removed_to = ?2, removed = removed + ?3, events = events - ?3
WHERE number = ?1

-- name: finish_removal
-- A session that went on while it was being removed keeps its new rows. What is left is
-- counted: if somebody deleted rows by hand, the session would otherwise be due for ever.
UPDATE sessions SET removing = 0, (events, last_seq, first_time) = (
    SELECT count(*), max(coalesce(max(e.seq), 0), last_seq),
      coalesce((
        SELECT f.timestamp FROM agent_events AS f INDEXED BY agent_events_session
        WHERE f.session = ?1
        ORDER BY f.seq LIMIT 1
      ), first_time)
    FROM agent_events AS e INDEXED BY agent_events_session
    WHERE e.session = ?1
  )
WHERE number = ?1
