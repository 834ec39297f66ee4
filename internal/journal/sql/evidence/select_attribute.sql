SELECT id, first_seq
FROM evidence_attributes
WHERE session = ?1 AND key = ?2 AND name = ?3
