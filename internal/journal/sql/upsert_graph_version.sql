-- The day is that of the first version. What retention removed says of which part of the session the graph is.
INSERT INTO graph_versions (app_name, user_id, session_id, destination, version, day) VALUES (?1, ?2, ?3, ?4, 1, ?5)
ON CONFLICT (app_name, user_id, session_id, destination) DO UPDATE SET version = version + 1
RETURNING version, day, coalesce((
  SELECT removed_to FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
), 0)
