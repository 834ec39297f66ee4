INSERT INTO evidence_children (session, app_name, user_id, session_id)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO NOTHING
