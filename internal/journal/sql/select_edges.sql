SELECT src, kind, dst FROM caused_edges
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
ORDER BY src, kind, dst
