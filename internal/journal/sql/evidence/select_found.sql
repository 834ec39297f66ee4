-- What models found in rows of the session that the journal has.
SELECT n.node_type, n.node_value, n.norm, n.attributes, n.artifact_uri, n.confidence,
  n.source, n.event_id, n.tech_node_key, n.span_id, n.evaluated_at, e.seq
FROM extracted_biz_nodes AS n INDEXED BY extracted_biz_nodes_model
CROSS JOIN agent_events AS e ON e.event_id = n.event_id
WHERE n.app_name = ?1 AND n.user_id = ?2 AND n.session_id = ?3 AND n.source = 'model'
ORDER BY e.seq, n.position, n.id
