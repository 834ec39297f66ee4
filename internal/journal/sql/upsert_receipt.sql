INSERT INTO extractions (
  app_name, user_id, session_id, watermark, rows_read, failed, truncated, version,
  errors, extracted_at
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (app_name, user_id, session_id) DO UPDATE SET
  watermark = excluded.watermark, rows_read = excluded.rows_read,
  failed = excluded.failed, truncated = excluded.truncated,
  version = excluded.version, errors = excluded.errors,
  extracted_at = excluded.extracted_at
