-- In the order of the rows they were seen in, so that of two sightings at the same
-- time the later one stands later.
SELECT n.node_type, n.node_value, n.norm, n.attributes, n.artifact_uri, n.confidence,
  n.source, n.event_id, n.tech_node_key, n.span_id, n.evaluated_at, n.echoes
FROM extracted_biz_nodes AS n
LEFT JOIN agent_events AS e ON e.event_id = n.event_id
WHERE n.app_name = ?1 AND n.user_id = ?2 AND n.session_id = ?3
ORDER BY e.seq, n.position, n.id
