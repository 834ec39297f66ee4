DELETE FROM evidence_names WHERE (session, name, call) IN (
  SELECT session, name, call FROM evidence_names
  WHERE session = (SELECT id FROM evidence_sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  LIMIT +?4
)
