SELECT id, watermark, rows_read, failed, truncated, error, version, results, unmatched, rewritten, rules
FROM evidence_sessions
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
