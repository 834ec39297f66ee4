UPDATE evidence_sightings SET source = 'claim'
WHERE session = ?1 AND result = ?2 AND source = 'rule'
