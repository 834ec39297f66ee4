INSERT INTO evidence_names (session, name, call)
VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING
