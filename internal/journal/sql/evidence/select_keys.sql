SELECT DISTINCT key
FROM evidence_attributes
WHERE session = ?1 AND key > ?2 AND first_seq <= ?3
ORDER BY key
LIMIT +?4
