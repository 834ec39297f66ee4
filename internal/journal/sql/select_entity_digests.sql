SELECT id, tech_node_key, node_type, node_value, event_id, source, digest
FROM extracted_biz_nodes
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
