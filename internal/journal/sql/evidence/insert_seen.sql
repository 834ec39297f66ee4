INSERT INTO evidence_seen (session, attribute, reading, seq, sighting)
VALUES (?1, ?2, ?3, ?4, ?5)
