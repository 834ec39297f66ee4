INSERT INTO evidence_attributes (session, key, name, first_seq)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (session, key, name) DO UPDATE SET first_seq = min(first_seq, excluded.first_seq)
RETURNING id
