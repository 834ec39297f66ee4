DELETE FROM extractions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
