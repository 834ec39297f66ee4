-- Copies the graph of the tables that earlier versions made into session_graphs, once: as a version
-- 0 of the dataset, so that any later one stands before it, and what models found as theirs. All of
-- it or nothing. What has no key is not of contextgraph. A check stands in the step of its row.
INSERT INTO {{table "session_graphs"}}
  (app_name, user_id, session_id, session_day, writer, writer_id, sync_id, version, read_to, part, parts, nodes)
WITH
  nodes AS (
    SELECT *
    FROM {{table "tech_nodes"}}
    WHERE node_key IS NOT NULL
    QUALIFY ROW_NUMBER() OVER (PARTITION BY app_name, user_id, session_id, node_key ORDER BY updated_at DESC) = 1
  ),
  sessions AS (
    SELECT
      app_name, user_id, session_id, DATE(MIN(start_time)) AS session_day,
      MAX(COALESCE(end_time, start_time)) AS read_to
    FROM nodes
    GROUP BY app_name, user_id, session_id
  ),
  causes AS (
    SELECT app_name, user_id, session_id, to_key AS node_key, ARRAY_AGG(STRUCT(edge_key, from_key, kind) ORDER BY edge_key) AS caused_by
    FROM (
      SELECT *
      FROM {{table "caused_edges"}}
      WHERE edge_key IS NOT NULL
      QUALIFY ROW_NUMBER() OVER (PARTITION BY app_name, user_id, session_id, edge_key ORDER BY created_at DESC) = 1
    )
    GROUP BY app_name, user_id, session_id, node_key
  ),
  links AS (
    SELECT app_name, user_id, session_id, link_key, MAX(link_type) AS link_type
    FROM {{table "context_cross_links"}}
    WHERE link_key IS NOT NULL
    GROUP BY app_name, user_id, session_id, link_key
  ),
  found AS (
    SELECT
      biz.app_name, biz.user_id, biz.session_id, biz.node_key, COALESCE(biz.source, '') = 'model' AS by_model,
      MAX(biz.trace_id) AS trace_id, MAX(biz.span_id) AS span_id, MIN(biz.evaluated_at) AS first, MAX(biz.evaluated_at) AS last,
      ARRAY_AGG(STRUCT(
        biz.biz_key, biz.node_type, biz.node_value, biz.confidence, biz.artifact_uri, biz.event_id, biz.canonical_key,
        biz.norm, biz.attributes, biz.source,
        IF(biz.source = 'action', 'NAMED', COALESCE(links.link_type, 'EVALUATED')) AS link_type, biz.evaluated_at,
        COALESCE(biz.first_evaluated_at, biz.evaluated_at) AS first_evaluated_at,
        ARRAY(
          SELECT AS STRUCT
            s.event_id, s.evaluated_at, s.confidence, s.artifact_uri, s.source, s.norm, s.attributes,
            CAST(NULL AS STRING) AS echoes
          FROM UNNEST(biz.sightings) AS s WITH OFFSET AS place
          ORDER BY place) AS sightings,
        CAST(NULL AS JSON) AS echoes) ORDER BY biz.evaluated_at, biz.biz_key) AS entities
    FROM (
      SELECT *
      FROM {{table "extracted_biz_nodes"}}
      WHERE biz_key IS NOT NULL
      QUALIFY ROW_NUMBER() OVER (
        PARTITION BY app_name, user_id, session_id, biz_key ORDER BY IF(source = 'model', 1, 0), updated_at DESC) = 1
    ) AS biz
    LEFT JOIN links
      ON links.app_name = biz.app_name AND links.user_id = biz.user_id AND links.session_id = biz.session_id
      AND links.link_key = biz.biz_key
    GROUP BY biz.app_name, biz.user_id, biz.session_id, biz.node_key, by_model
  ),
  checks AS (
    SELECT
      nodes.app_name, nodes.user_id, nodes.session_id, nodes.node_key,
      ARRAY_AGG(STRUCT(
        made.check_id, made.checked_at, made.verdict, made.stage, made.approval_id, made.confirmation_id, made.call_id,
        made.tool, made.entities_checked, made.stale_entities, made.failed_entities,
        ARRAY(
          SELECT AS STRUCT a.entity_type, a.value, a.attribute, a.drift_type, a.before, a.after, a.severity
          FROM UNNEST(made.alerts) AS a WITH OFFSET AS place
          ORDER BY place) AS alerts,
        made.detail) ORDER BY made.checked_at, made.check_id) AS checks
    FROM nodes
    CROSS JOIN UNNEST(nodes.event_ids) AS event_id
    JOIN (
      SELECT *
      FROM {{table "world_change_checks"}}
      WHERE check_id IS NOT NULL
      QUALIFY ROW_NUMBER() OVER (PARTITION BY app_name, user_id, session_id, check_id ORDER BY created_at DESC) = 1
    ) AS made
      ON made.app_name = nodes.app_name AND made.user_id = nodes.user_id AND made.session_id = nodes.session_id
      AND made.check_id = event_id
    GROUP BY nodes.app_name, nodes.user_id, nodes.session_id, nodes.node_key
  ),
  steps AS (
    SELECT
      nodes.app_name, nodes.user_id, nodes.session_id, sessions.session_day, 'dataset' AS writer, '' AS writer_id,
      sessions.read_to,
      nodes.node_key, nodes.trace_id, nodes.span_id, nodes.parent_span_id, nodes.kind, nodes.name, nodes.agent,
      nodes.invocation_id, nodes.branch, nodes.call_id, nodes.approval, nodes.event_types, nodes.event_ids,
      nodes.start_time, nodes.end_time, nodes.decided_at, nodes.status, nodes.error_message, nodes.latency_ms,
      nodes.position,
      ARRAY(
        SELECT AS STRUCT r.kind, r.pair, r.agent, r.tool, r.asked_at, r.answered_at, r.confirmed, r.accepted, r.waited_ms
        FROM UNNEST(nodes.requests) AS r WITH OFFSET AS place
        ORDER BY place) AS requests,
      causes.caused_by, found.entities, checks.checks
    FROM nodes
    JOIN sessions
      ON sessions.app_name = nodes.app_name AND sessions.user_id = nodes.user_id AND sessions.session_id = nodes.session_id
    LEFT JOIN causes
      ON causes.app_name = nodes.app_name AND causes.user_id = nodes.user_id AND causes.session_id = nodes.session_id
      AND causes.node_key = nodes.node_key
    LEFT JOIN found
      ON found.app_name = nodes.app_name AND found.user_id = nodes.user_id AND found.session_id = nodes.session_id
      AND found.node_key = nodes.node_key AND NOT found.by_model
    LEFT JOIN checks
      ON checks.app_name = nodes.app_name AND checks.user_id = nodes.user_id AND checks.session_id = nodes.session_id
      AND checks.node_key = nodes.node_key
    UNION ALL
    SELECT
      found.app_name, found.user_id, found.session_id, COALESCE(sessions.session_day, DATE(found.first)), 'model', 'copied',
      found.last,
      found.node_key, found.trace_id, found.span_id, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL,
      NULL,
      NULL,
      NULL, found.entities, NULL
    FROM found
    LEFT JOIN sessions
      ON sessions.app_name = found.app_name AND sessions.user_id = found.user_id AND sessions.session_id = found.session_id
    WHERE found.by_model
  )
SELECT
  app_name, user_id, session_id, MIN(session_day), writer, writer_id, 'copied', 0, MAX(read_to), 0, 1,
  ARRAY_AGG(STRUCT(
    node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id, approval,
    event_types, event_ids, start_time, end_time, decided_at, status, error_message, latency_ms, position,
    requests, caused_by, entities, checks) ORDER BY position, node_key)
FROM steps
WHERE NOT EXISTS (SELECT 1 FROM {{table "session_graphs"}} WHERE writer = 'dataset' AND version = 0)
GROUP BY app_name, user_id, session_id, writer, writer_id
