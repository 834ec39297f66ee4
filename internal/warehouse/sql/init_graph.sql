CREATE {{if .Replace}}OR REPLACE PROPERTY GRAPH{{else}}PROPERTY GRAPH IF NOT EXISTS{{end}} {{graph}}
NODE TABLES (
  {{table "graph_tech_nodes"}} AS TechNode
    KEY (node_key)
    LABEL TechNode
    PROPERTIES (
      node_key, app_name, user_id, session_id, session_day, trace_id, span_id, parent_span_id, invocation_id, call_id,
      event_type, timestamp, kind, name, agent, approval, start_time, end_time, decided_at, status, error_message, latency_ms, position
    ),
  {{table "graph_biz_nodes"}} AS BizNode
    KEY (biz_key)
    LABEL BizNode
    PROPERTIES (
      biz_key, biz_node_id, node_key, app_name, user_id, session_id, session_day, span_id, event_id,
      node_type, node_value, canonical_key, confidence, artifact_uri, source, evaluated_at, first_evaluated_at
    ),
  {{table "graph_world_change_checks"}} AS WorldChangeCheck
    KEY (check_id)
    LABEL WorldChangeCheck
    PROPERTIES (
      check_id, app_name, user_id, session_id, session_day, checked_at, verdict, stage, approval_id, confirmation_id,
      call_id, tool, entities_checked, stale_entities, failed_entities, alerts
    )
)
EDGE TABLES (
  {{table "graph_caused_edges"}} AS Caused
    KEY (edge_key)
    SOURCE KEY (from_key) REFERENCES TechNode (node_key)
    DESTINATION KEY (to_key) REFERENCES TechNode (node_key)
    LABEL Caused
    PROPERTIES (edge_key, from_key, to_key, app_name, user_id, session_id, session_day, kind, occurred_at),
  {{table "graph_cross_links"}} AS Evaluated
    KEY (link_key)
    SOURCE KEY (node_key) REFERENCES TechNode (node_key)
    DESTINATION KEY (biz_key) REFERENCES BizNode (biz_key)
    LABEL Evaluated
    PROPERTIES (
      link_key, node_key, biz_key, app_name, user_id, session_id, session_day, artifact_uri, link_type, created_at,
      evaluated_at, first_evaluated_at
    ),
  {{table "graph_world_change_checks"}} AS Checked
    KEY (check_id)
    SOURCE KEY (check_id) REFERENCES WorldChangeCheck (check_id)
    DESTINATION KEY (node_key) REFERENCES TechNode (node_key)
    LABEL Checked
    PROPERTIES (check_id, node_key, app_name, user_id, session_id, session_day, checked_at)
)
