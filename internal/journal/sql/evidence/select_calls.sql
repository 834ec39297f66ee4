SELECT c.seq, c.event_id, c.results, c.own,
  (SELECT json_group_array(m.name ORDER BY m.name) FROM evidence_names AS m WHERE m.session = c.session AND m.call = c.seq)
FROM evidence_names AS n
CROSS JOIN evidence_calls AS c ON c.session = n.session AND c.seq = n.call
WHERE n.session = ?1 AND n.name = ?2
ORDER BY n.call
