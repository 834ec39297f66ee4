-- name: add_lost_rows
-- Beyond $5 runs those of further ones count for the empty run, which has the key $6.
WITH many AS (
  SELECT count(*) FILTER (WHERE run_id <> '') >= $5 AND NOT bool_or(run_key = $2) AS full_up FROM contextgraph.lost_rows WHERE session = $1
), added AS (
  INSERT INTO contextgraph.lost_rows AS l (session, run_key, run_id, rows)
  SELECT $1, CASE WHEN full_up THEN $6::bytea ELSE $2::bytea END, CASE WHEN full_up THEN '' ELSE $3::text END, $4 FROM many
  ON CONFLICT (session, run_key) DO UPDATE SET rows = l.rows + excluded.rows
)
UPDATE contextgraph.sessions SET lost = lost + $4 WHERE key = $1

-- name: select_losses
SELECT run_id, rows, false FROM contextgraph.lost_rows WHERE session = $1
UNION ALL
SELECT '', removed, true FROM contextgraph.sessions WHERE key = $1 AND removed > 0
ORDER BY 3, 1
