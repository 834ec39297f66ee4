-- In the columns of select_open_runs.sql.
SELECT r.run_id, r.turn, r.started, r.completed, r.expected, r.stored, r.first_seq,
  (SELECT json_group_array(t.turn ORDER BY t.id) FROM evidence_turns AS t WHERE t.run = r.id)
FROM evidence_runs AS r
WHERE r.session = ?1 AND r.run_id = ?2
