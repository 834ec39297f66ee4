INSERT INTO evidence_turns (session, turn, run)
VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING
