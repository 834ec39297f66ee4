INSERT INTO evidence_runs (session, run_id, turn, started, first_seq, completed, expected, stored)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (session, run_id) DO UPDATE SET
  turn = max(turn, excluded.turn),
  started = coalesce(min(started, excluded.started), started, excluded.started),
  first_seq = min(first_seq, excluded.first_seq),
  completed = max(completed, excluded.completed),
  expected = max(expected, excluded.expected),
  stored = stored + excluded.stored
RETURNING id
