INSERT INTO extracted_biz_nodes (
  biz_node_id, span_id, session_id, node_type, node_value, confidence, artifact_uri,
  created_at, tech_node_key, app_name, user_id, trace_id, event_id, canonical_key,
  norm, attributes, source, evaluated_at, position, digest, echoes
) VALUES (
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21
)
ON CONFLICT (tech_node_key, node_type, node_value) DO UPDATE SET
  confidence = excluded.confidence, artifact_uri = excluded.artifact_uri,
  trace_id = excluded.trace_id, event_id = excluded.event_id,
  canonical_key = excluded.canonical_key, norm = excluded.norm,
  attributes = excluded.attributes, source = excluded.source,
  evaluated_at = excluded.evaluated_at, position = excluded.position,
  digest = excluded.digest, echoes = excluded.echoes
RETURNING id
