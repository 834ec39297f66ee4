-- The readings of a result that models read otherwise are none.
UPDATE evidence_seen SET reading = 0
WHERE (session, attribute, reading, seq, sighting) IN (
  SELECT n.session, n.attribute, n.reading, n.seq, n.sighting
  FROM evidence_sightings AS s INDEXED BY evidence_sightings_result
  CROSS JOIN evidence_attributes AS a ON a.session = s.session AND a.key = s.key
  CROSS JOIN evidence_seen AS n
    ON n.session = s.session AND n.attribute = a.id AND n.reading = 1 AND n.seq = s.seq AND n.sighting = s.id
  WHERE s.session = ?1 AND s.result = ?2 AND s.source <> 'declared'
)
