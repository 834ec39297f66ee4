DELETE FROM caused_edges WHERE (src, kind, dst) IN (
  SELECT src, kind, dst FROM caused_edges
  WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
  LIMIT +?4
)
