DELETE FROM evidence_seen WHERE (session, attribute, reading, seq, sighting) IN (
  SELECT session, attribute, reading, seq, sighting FROM evidence_seen
  WHERE session = (SELECT id FROM evidence_sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  LIMIT +?4
)
