DELETE FROM evidence_results WHERE (session, number) IN (
  SELECT session, number FROM evidence_results
  WHERE session = (SELECT id FROM evidence_sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  LIMIT +?4
)
