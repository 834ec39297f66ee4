INSERT INTO evidence_sessions (
  app_name, user_id, session_id, watermark, rows_read, failed, truncated, error, version,
  results, unmatched, rewritten, rules
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (app_name, user_id, session_id) DO UPDATE SET
  watermark = excluded.watermark, rows_read = excluded.rows_read, failed = excluded.failed,
  truncated = excluded.truncated, error = excluded.error, version = excluded.version,
  results = excluded.results, unmatched = excluded.unmatched,
  rewritten = excluded.rewritten, rules = excluded.rules
RETURNING id
