UPDATE evidence_choices INDEXED BY evidence_choices_result SET reading = 0
WHERE session = ?1 AND result = ?2 AND reading = 1
