INSERT INTO evidence_results (session, number, seq, start_seq, event_id, run_id, call_id, digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
