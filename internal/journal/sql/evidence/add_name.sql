-- A name of a call that is not stored names nothing.
INSERT INTO evidence_names (session, name, call)
SELECT ?1, ?2, seq FROM evidence_calls INDEXED BY evidence_calls_event
WHERE session = ?1 AND event_id = ?3
ON CONFLICT DO NOTHING
