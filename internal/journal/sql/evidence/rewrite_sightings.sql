UPDATE evidence_sightings INDEXED BY evidence_sightings_result SET source = 'claim'
WHERE session = ?1 AND result = ?2 AND source = 'rule'
