-- What is skipped is passed over in the index.
SELECT s.seq, s.start_seq, s.result, s.source, s.node_type, s.node_value, s.norm, s.attributes,
  s.echoes, s.artifact_uri, s.confidence, s.event_id, s.tech_node, s.span_id, s.seen_at, s.repeats
FROM (
  SELECT n.seq, n.sighting
  FROM evidence_seen AS n
  WHERE n.session = ?1 AND n.reading = ?4 AND n.seq <= ?5
    AND n.attribute = (SELECT a.id FROM evidence_attributes AS a WHERE a.session = ?1 AND a.key = ?2 AND a.name = ?3)
  ORDER BY n.seq DESC, n.sighting DESC
  LIMIT +?7 OFFSET ?6
) AS latest
CROSS JOIN evidence_sightings AS s ON s.id = latest.sighting
ORDER BY latest.seq DESC, latest.sighting DESC
