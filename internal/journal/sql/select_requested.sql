-- The sessions with an approval whose id, or that of its confirmation, begins with a text, the newest
-- first. An empty application or user matches all.
SELECT app_name, user_id, session_id
FROM approvals
WHERE (id >= ?1 AND id < ?2 OR confirmation_id >= ?1 AND confirmation_id < ?2)
  AND (?3 = '' OR app_name = ?3) AND (?4 = '' OR user_id = ?4)
GROUP BY app_name, user_id, session_id
ORDER BY max(number) DESC
LIMIT +?5
