DELETE FROM evidence_choices WHERE (session, key, seq, result, rule) IN (
  SELECT session, key, seq, result, rule FROM evidence_choices
  WHERE session = (SELECT id FROM evidence_sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  LIMIT +?4
)
