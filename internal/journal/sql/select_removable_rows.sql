-- octet_length tells the size of a payload without reading it.
SELECT seq,
  coalesce(octet_length(content), 0) + coalesce(octet_length(content_parts), 0) + coalesce(octet_length(attributes), 0) AS bytes
FROM agent_events INDEXED BY agent_events_session
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND seq <= ?4
ORDER BY seq
LIMIT +?5
