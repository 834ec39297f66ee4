-- name: select_summaries
-- Of each session with rows, with NULL where there is none that holds at the time ?1.
SELECT s.app_name, s.user_id, s.session_id, s.last_seq, s.last_time, s.events, m.status, m.words, m.more,
  m.start, m."end", m.errors, m.turns, m.prompt, m.completion, m.total
FROM sessions AS s
LEFT JOIN summaries AS m ON m.session = s.number AND m.last_seq = s.last_seq AND m.until > ?1
WHERE s.events > 0

-- name: select_stamp
-- Numbers that change with whatever a summary is made of: rows, losses, steps of approvals.
SELECT s.last_seq, s.events,
  coalesce((SELECT sum(l.rows) FROM lost_rows AS l WHERE l.session = s.number), 0),
  (SELECT count(*) FROM approvals AS a
    JOIN approval_history AS h ON h.id > a.number << 20 AND h.id < (a.number + 1) << 20
    WHERE a.session = s.number)
FROM sessions AS s
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.session_id = ?3

-- name: upsert_summary
INSERT OR REPLACE INTO summaries (
  session, last_seq, until, status, words, more, start, "end", errors, turns, prompt, completion, total
)
SELECT number, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15
FROM sessions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3

-- name: remove_summary
DELETE FROM summaries WHERE session = ?1

-- name: remove_summary_of
-- That of the session of the approval with the id ?1.
DELETE FROM summaries WHERE session = (SELECT session FROM approvals WHERE id = ?1)
