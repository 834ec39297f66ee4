SELECT c.seq, c.event_id, c.results, c.own,
  (SELECT json_group_array(m.name ORDER BY m.name) FROM evidence_names AS m WHERE m.session = c.session AND m.call = c.seq)
FROM evidence_calls AS c
WHERE c.session = ?1
ORDER BY c.seq DESC
LIMIT 1
