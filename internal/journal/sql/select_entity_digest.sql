SELECT source, digest FROM extracted_biz_nodes
WHERE tech_node_key = ?1 AND node_type = ?2 AND node_value = ?3
