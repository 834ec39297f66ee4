DELETE FROM evidence_attributes WHERE id IN (
  SELECT id FROM evidence_attributes
  WHERE session = (SELECT id FROM evidence_sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  LIMIT +?4
)
