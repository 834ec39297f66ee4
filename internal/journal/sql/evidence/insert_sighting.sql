INSERT INTO evidence_sightings (
  session, key, seq, start_seq, result, source, node_type, node_value, norm, attributes,
  echoes, artifact_uri, confidence, event_id, tech_node, span_id, seen_at, repeats
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
