SELECT l.seq, l.event_id, l.app_name, l.user_id, l.session_id, l.event_type, l.bytes, l.code, l.reason, l.at
FROM dead_letters AS l
JOIN destinations AS d ON d.id = l.destination
WHERE d.name = ?1
ORDER BY l.seq
LIMIT +?2
