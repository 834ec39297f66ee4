SELECT number, seq, start_seq, event_id, run_id, call_id, digest
FROM evidence_results INDEXED BY evidence_results_call
WHERE session = ?1 AND call_id = ?2 AND digest = ?3
ORDER BY number
