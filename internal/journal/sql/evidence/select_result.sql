SELECT number, seq, start_seq, event_id, run_id, call_id, digest
FROM evidence_results
WHERE session = ?1 AND event_id = ?2
