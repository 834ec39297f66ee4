SELECT r.run_id, r.turn, r.started, r.completed, r.expected, r.stored, r.first_seq,
  (SELECT json_group_array(t.turn ORDER BY t.id) FROM evidence_turns AS t WHERE t.run = r.id)
FROM evidence_runs AS r INDEXED BY evidence_runs_open
WHERE r.session = ?1 AND (r.completed = 0 OR r.stored < r.expected)
ORDER BY r.id
