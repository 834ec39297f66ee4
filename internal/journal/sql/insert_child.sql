INSERT INTO child_sessions (app_name, user_id, session_id, child_app_name, child_user_id, child_session_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING
