INSERT INTO evidence_choices (session, key, seq, result, rule, reading)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO UPDATE SET reading = max(reading, excluded.reading)
