UPDATE evidence_results SET digest = ?3
WHERE session = ?1 AND event_id = ?2
RETURNING number
