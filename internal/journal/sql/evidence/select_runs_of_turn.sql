SELECT r.run_id
FROM evidence_turns AS t
CROSS JOIN evidence_runs AS r ON r.id = t.run
WHERE t.session = ?1 AND t.turn = ?2
ORDER BY t.run
