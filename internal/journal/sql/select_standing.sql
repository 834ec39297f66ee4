-- Where the approvals of one session stand, oldest first.
SELECT id, confirmation_id, call_id, tool, requested_at, expires_at, state, permit_expires_at, verdict, updated_at, overridden
FROM approvals
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
ORDER BY number
