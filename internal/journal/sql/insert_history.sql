INSERT INTO approval_history (approval_id, from_state, to_state, at, actor, verdict, note, run_id, check_id, authenticated, resolved, override)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
