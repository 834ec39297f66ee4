-- What happened to the approvals of a session, step by step. The history is append-only.
SELECT
  a.tool, datetime(h.at / 1000000, 'unixepoch') AS at, h.from_state, h.to_state, h.actor, h.verdict,
  CASE WHEN h.resolved THEN 'the word of ' || h.actor END AS resolved, h.note
FROM approvals AS a
JOIN approval_history AS h ON h.id > a.number << 20 AND h.id < (a.number + 1) << 20
WHERE a.session_id = :session
ORDER BY a.number, h.id;
