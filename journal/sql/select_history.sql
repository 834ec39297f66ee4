SELECT from_state, to_state, at, actor, verdict, note
FROM approval_history
WHERE approval_id = ?1
ORDER BY id
