SELECT from_state, to_state, at, actor, verdict, note, run_id, check_id, authenticated, resolved, override
FROM approval_history
WHERE approval_id = ?1
ORDER BY id
