{{- if eq . "steps"}}{{template "steps" "all"}}
{{- else if eq . "tech_nodes"}}{{template "tech_nodes" "all"}}
{{- else if eq . "caused_edges"}}{{template "caused_edges" "all"}}
{{- else if eq . "biz_nodes"}}{{template "biz_nodes" "all"}}
{{- else if eq . "cross_links"}}
SELECT
  biz_node_id AS link_id, span_id, session_id, biz_node_id, node_value, link_type, artifact_uri, created_at,
  biz_key AS link_key, node_key, biz_key, app_name, user_id, session_day, source, evaluated_at, recorder, updated_at,
  first_evaluated_at
FROM {{table "graph_biz_nodes"}}
{{- else}}{{template "checks" "all"}}
{{- end}}
