-- What names the row is read from the row.
INSERT INTO dead_letters (
  destination, seq, event_id, app_name, user_id, session_id, event_type, bytes, code, reason, at
)
SELECT ?1, e.seq, e.event_id, e.app_name, e.user_id, e.session_id, e.event_type, ?3, ?4, ?5, ?6
FROM agent_events AS e
WHERE e.seq = ?2
ON CONFLICT (destination, seq) DO UPDATE SET
  bytes = excluded.bytes, code = excluded.code, reason = excluded.reason, at = excluded.at
