-- name: add_lost_rows
-- A session with ?4 lines gets no more, but for one without a run.
INSERT INTO lost_rows (session, run_id, rows)
SELECT ?1, CASE WHEN ?2 IN (SELECT run_id FROM lost_rows WHERE session = ?1)
    OR (SELECT count(*) FROM lost_rows WHERE session = ?1) < ?4 THEN ?2 ELSE '' END, ?3
WHERE true
ON CONFLICT (session, run_id) DO UPDATE SET rows = rows + excluded.rows

-- name: select_lost_rows
SELECT run_id, rows FROM lost_rows
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
