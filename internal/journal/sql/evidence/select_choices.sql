SELECT seq, result, rule, reading
FROM evidence_choices
WHERE session = ?1 AND key = ?2 AND seq <= ?3
ORDER BY seq, result, rule
LIMIT +?5 OFFSET ?4
