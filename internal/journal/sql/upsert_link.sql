INSERT INTO context_cross_links (
  node, link_id, span_id, session_id, biz_node_id, link_type, artifact_uri,
  created_at, tech_node_key, app_name, user_id
) VALUES (?1, ?2, ?3, ?4, ?2, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (node) DO UPDATE SET link_type = excluded.link_type, artifact_uri = excluded.artifact_uri
