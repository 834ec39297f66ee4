-- The times of a session that was removed are those of its new rows.
INSERT INTO sessions (app_name, user_id, session_id, first_time, last_time, last_seq, events)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (app_name, user_id, session_id) DO UPDATE SET
  first_time = CASE WHEN events = 0 THEN excluded.first_time ELSE min(first_time, excluded.first_time) END,
  last_time  = CASE WHEN events = 0 THEN excluded.last_time ELSE max(last_time, excluded.last_time) END,
  last_seq   = max(last_seq, excluded.last_seq),
  events     = events + excluded.events
