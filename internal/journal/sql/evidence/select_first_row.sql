SELECT first_seq FROM evidence_runs WHERE session = ?1 AND run_id = ?2
