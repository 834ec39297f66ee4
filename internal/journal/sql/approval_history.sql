-- name: insert_history
-- The next step of the approval with the id ?1.
INSERT INTO approval_history (
  id, approval, from_state, to_state, at, actor, verdict, note, run_id, check_id, authenticated, resolved, override
)
SELECT
  1 + coalesce((SELECT max(h.id) FROM approval_history AS h WHERE h.id > a.number << 20 AND h.id < (a.number + 1) << 20), a.number << 20),
  a.number, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
FROM approvals AS a
WHERE a.id = ?1

-- name: select_history
SELECT h.from_state, h.to_state, h.at, h.actor, h.verdict, h.note, h.run_id, h.check_id, h.authenticated, h.resolved, h.override
FROM approvals AS a
JOIN approval_history AS h ON h.id > a.number << 20 AND h.id < (a.number + 1) << 20
WHERE a.id = ?1
ORDER BY h.id
