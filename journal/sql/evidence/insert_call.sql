INSERT INTO evidence_calls (session, seq, event_id, results)
VALUES (?1, ?2, ?3, ?4)
