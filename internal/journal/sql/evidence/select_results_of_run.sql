SELECT number, seq, start_seq, event_id, run_id, call_id, digest
FROM evidence_results INDEXED BY evidence_results_run
WHERE session = ?1 AND run_id = ?2 AND seq <= ?3
ORDER BY seq, number
