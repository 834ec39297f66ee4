INSERT INTO evidence_calls (session, seq, event_id, results, own)
VALUES (?1, ?2, ?3, ?4, ?5)
