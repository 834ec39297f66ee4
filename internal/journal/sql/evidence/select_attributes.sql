SELECT name
FROM evidence_attributes
WHERE session = ?1 AND key = ?2
ORDER BY name
