INSERT INTO lost_rows (app_name, user_id, session_id, rows) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (app_name, user_id, session_id) DO UPDATE SET rows = rows + excluded.rows
