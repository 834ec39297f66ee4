SELECT watermark, rows_read, failed, truncated, version, errors
FROM extractions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
