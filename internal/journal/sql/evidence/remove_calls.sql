DELETE FROM evidence_calls WHERE (session, seq) IN (
  SELECT session, seq FROM evidence_calls
  WHERE session = (SELECT id FROM evidence_sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  LIMIT +?4
)
