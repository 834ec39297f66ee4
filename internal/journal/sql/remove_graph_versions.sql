-- A session that goes on has a new first row, and so a new day.
DELETE FROM graph_versions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
