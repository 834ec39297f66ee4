UPDATE approvals SET confirmation_id = ?2
WHERE id = ?1 AND state = 'pending' AND confirmation_id IS NULL
