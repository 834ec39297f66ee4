UPDATE evidence_results INDEXED BY evidence_results_event SET digest = ?3
WHERE session = ?1 AND event_id = ?2
RETURNING number
