INSERT INTO caused_edges (src, kind, dst, app_name, user_id, session_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING
