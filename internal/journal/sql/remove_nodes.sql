DELETE FROM tech_nodes WHERE key IN (
  SELECT key FROM tech_nodes
  WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
  LIMIT +?4
)
