-- name: add_lost_rows
INSERT INTO lost_rows (session, rows) VALUES (?1, ?2)
ON CONFLICT (session) DO UPDATE SET rows = rows + excluded.rows

-- name: select_lost_rows
SELECT rows FROM lost_rows
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
