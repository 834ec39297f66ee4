-- The day is that of the first version.
INSERT INTO graph_versions (app_name, user_id, session_id, destination, version, day) VALUES (?1, ?2, ?3, ?4, 1, ?5)
ON CONFLICT (app_name, user_id, session_id, destination) DO UPDATE SET version = version + 1
RETURNING version, day
