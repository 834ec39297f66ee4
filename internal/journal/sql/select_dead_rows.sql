-- The rows of dead letters, in the columns of select_rows.sql.
SELECT e.seq, e.run_seq, e.timestamp, e.is_truncated,
  e.app_name, e.user_id, e.session_id, e.run_id, e.event_id, e.event_type, e.agent, e.invocation_id,
  e.trace_id, e.span_id, e.parent_span_id, e.status, e.error_message,
  e.content, e.content_parts, e.attributes, e.latency_ms
FROM dead_letters AS l
JOIN destinations AS d ON d.id = l.destination
JOIN agent_events AS e ON e.seq = l.seq
WHERE d.name = ?3 AND l.seq > ?1
ORDER BY l.seq
LIMIT +?2
