-- Their cross links go with them.
DELETE FROM extracted_biz_nodes WHERE id IN (
  SELECT id FROM extracted_biz_nodes
  WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
  LIMIT +?4
)
