{{- define "known" -}}
IFNULL(NOT @whole AND ARRAY_LENGTH(T.requests) = ARRAY_LENGTH(S.requests)
    AND ARRAY_LENGTH(REGEXP_EXTRACT_ALL(TO_JSON_STRING(T.requests), '"answered_at":null'))
    < ARRAY_LENGTH(REGEXP_EXTRACT_ALL(TO_JSON_STRING(S.requests), '"answered_at":null')), FALSE)
{{- end -}}
-- Brings the staged graph of one session to the tables of the graph, all of it or
-- nothing. A staging table holds one row per key. Then it counts the rows that are too
-- many, see the end.
--
-- @app, @user and @session name the session. A row is looked for between @from and @to,
-- which are wider than what was read, so that a step that grew at its edges is found and
-- no key gets a second row. Only rows between @first and @last, which were read, are
-- removed. What was brought here from a reading after @read_at is newer and stays.
--
-- Each table has two statements: one changes and removes rows, the other adds rows. One
-- statement with NOT MATCHED BY TARGET and NOT MATCHED BY SOURCE would be a full outer
-- join, for which BigQuery reads the whole table whatever the conditions say. So that
-- each reads the partitions of the session alone, the partition and the session stand as
-- constants in every clause of the first, and beside the key in the second.
--
-- The journal of one host does not know what was answered on another one. Of as many
-- requests of a step, those of the dataset stay when fewer of them are open.
BEGIN TRANSACTION;

MERGE {{table "tech_nodes"}} AS T
USING {{table .Nodes}} AS S
ON T.node_key = S.node_key
WHEN MATCHED
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.start_time BETWEEN @from AND @to
  AND @full AND T.updated_at <= @read_at
  AND (TO_JSON_STRING(STRUCT(
    T.trace_id, T.span_id, T.parent_span_id, T.kind, T.name, T.agent, T.invocation_id, T.branch, T.call_id, T.approval,
    T.event_types, T.event_ids, T.start_time, T.end_time, T.decided_at, T.status, T.error_message, T.latency_ms, T.position))
  != TO_JSON_STRING(STRUCT(
    S.trace_id, S.span_id, S.parent_span_id, S.kind, S.name, S.agent, S.invocation_id, S.branch, S.call_id, S.approval,
    S.event_types, S.event_ids, S.start_time, S.end_time, S.decided_at, S.status, S.error_message, S.latency_ms, S.position))
  OR TO_JSON_STRING(T.requests) != TO_JSON_STRING(S.requests) AND NOT {{template "known"}})
THEN UPDATE SET
  trace_id = S.trace_id, span_id = S.span_id, parent_span_id = S.parent_span_id, kind = S.kind, name = S.name, agent = S.agent,
  invocation_id = S.invocation_id, branch = S.branch, call_id = S.call_id, approval = S.approval, event_types = S.event_types,
  event_ids = S.event_ids, start_time = S.start_time, end_time = S.end_time, decided_at = S.decided_at, status = S.status,
  error_message = S.error_message, latency_ms = S.latency_ms, position = S.position, recorder = S.recorder, updated_at = S.updated_at,
  requests = IF({{template "known"}}, T.requests, S.requests)
WHEN NOT MATCHED BY SOURCE
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.start_time BETWEEN @first AND @last
  AND @full AND (@whole OR T.recorder = @recorder) AND T.updated_at <= @read_at
THEN DELETE;

MERGE {{table "tech_nodes"}} AS T
USING {{table .Nodes}} AS S
ON T.node_key = S.node_key
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.start_time BETWEEN @from AND @to
WHEN NOT MATCHED BY TARGET THEN INSERT
  (node_key, app_name, user_id, session_id, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id,
   approval, event_types, event_ids, start_time, end_time, decided_at, status, error_message, latency_ms, position, recorder,
   created_at, updated_at, requests)
  VALUES
  (S.node_key, S.app_name, S.user_id, S.session_id, S.trace_id, S.span_id, S.parent_span_id, S.kind, S.name, S.agent,
   S.invocation_id, S.branch, S.call_id, S.approval, S.event_types, S.event_ids, S.start_time, S.end_time, S.decided_at, S.status,
   S.error_message, S.latency_ms, S.position, S.recorder, S.created_at, S.updated_at, S.requests);

MERGE {{table "caused_edges"}} AS T
USING {{table .Edges}} AS S
ON T.edge_key = S.edge_key
WHEN MATCHED
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.occurred_at BETWEEN @from AND @to
  AND @full AND T.created_at <= @read_at AND T.occurred_at != S.occurred_at
THEN UPDATE SET occurred_at = S.occurred_at, recorder = S.recorder
WHEN NOT MATCHED BY SOURCE
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.occurred_at BETWEEN @first AND @last
  AND @full AND (@whole OR T.recorder = @recorder) AND T.created_at <= @read_at
THEN DELETE;

MERGE {{table "caused_edges"}} AS T
USING {{table .Edges}} AS S
ON T.edge_key = S.edge_key
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.occurred_at BETWEEN @from AND @to
WHEN NOT MATCHED BY TARGET THEN INSERT
  (edge_key, from_key, to_key, kind, app_name, user_id, session_id, occurred_at, recorder, created_at)
  VALUES
  (S.edge_key, S.from_key, S.to_key, S.kind, S.app_name, S.user_id, S.session_id, S.occurred_at, S.recorder, S.created_at);

-- What a model found neither replaces what is exact nor is removed: no rule can tell
-- that it is out of date. An entity of a step with a row that could not be read may
-- still stand in that row.
MERGE {{table "extracted_biz_nodes"}} AS T
USING {{table .Entities}} AS S
ON T.biz_key = S.biz_key
WHEN MATCHED
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.evaluated_at BETWEEN @from AND @to
  AND @full AND T.updated_at <= @read_at
  AND (S.source != 'model' OR COALESCE(T.source, '') = 'model')
  AND TO_JSON_STRING(STRUCT(
    T.biz_node_id, T.span_id, T.confidence, T.artifact_uri, T.trace_id, T.event_id, T.canonical_key, T.norm, T.attributes,
    T.source, T.evaluated_at, T.first_evaluated_at, T.sightings, T.echoes))
  != TO_JSON_STRING(STRUCT(
    S.biz_node_id, S.span_id, S.confidence, S.artifact_uri, S.trace_id, S.event_id, S.canonical_key, S.norm, S.attributes,
    S.source, S.evaluated_at, S.first_evaluated_at, S.sightings, S.echoes))
THEN UPDATE SET
  biz_node_id = S.biz_node_id, span_id = S.span_id, confidence = S.confidence, artifact_uri = S.artifact_uri,
  trace_id = S.trace_id, event_id = S.event_id, canonical_key = S.canonical_key, norm = S.norm, attributes = S.attributes,
  source = S.source, evaluated_at = S.evaluated_at, first_evaluated_at = S.first_evaluated_at, sightings = S.sightings,
  echoes = S.echoes, recorder = S.recorder, updated_at = S.updated_at
WHEN NOT MATCHED BY SOURCE
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.evaluated_at BETWEEN @first AND @last
  AND @full AND (@whole OR T.recorder = @recorder) AND T.updated_at <= @read_at
  AND COALESCE(T.source, '') != 'model' AND T.node_key NOT IN UNNEST(@failed)
THEN DELETE;

MERGE {{table "extracted_biz_nodes"}} AS T
USING {{table .Entities}} AS S
ON T.biz_key = S.biz_key
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.evaluated_at BETWEEN @from AND @to
WHEN NOT MATCHED BY TARGET THEN INSERT
  (biz_node_id, span_id, session_id, node_type, node_value, confidence, artifact_uri, biz_key, node_key, app_name, user_id,
   trace_id, event_id, canonical_key, norm, attributes, source, evaluated_at, recorder, created_at, updated_at,
   first_evaluated_at, sightings, echoes)
  VALUES
  (S.biz_node_id, S.span_id, S.session_id, S.node_type, S.node_value, S.confidence, S.artifact_uri, S.biz_key, S.node_key,
   S.app_name, S.user_id, S.trace_id, S.event_id, S.canonical_key, S.norm, S.attributes, S.source, S.evaluated_at, S.recorder,
   S.created_at, S.updated_at, S.first_evaluated_at, S.sightings, S.echoes);

-- A link goes with its entity. One without a source was found by a model when that is its
-- recorder.
MERGE {{table "context_cross_links"}} AS T
USING {{table .Links}} AS S
ON T.link_key = S.link_key
WHEN MATCHED
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.evaluated_at BETWEEN @from AND @to
  AND @full AND COALESCE(T.updated_at, T.created_at) <= @read_at
  AND (S.source != 'model' OR COALESCE(T.source, T.recorder, '') = 'model')
  AND TO_JSON_STRING(STRUCT(
    T.link_id, T.span_id, T.biz_node_id, T.link_type, T.artifact_uri, T.source, T.evaluated_at, T.first_evaluated_at))
  != TO_JSON_STRING(STRUCT(
    S.link_id, S.span_id, S.biz_node_id, S.link_type, S.artifact_uri, S.source, S.evaluated_at, S.first_evaluated_at))
THEN UPDATE SET
  link_id = S.link_id, span_id = S.span_id, biz_node_id = S.biz_node_id, link_type = S.link_type, artifact_uri = S.artifact_uri, source = S.source,
  evaluated_at = S.evaluated_at, first_evaluated_at = S.first_evaluated_at, recorder = S.recorder, updated_at = S.updated_at
WHEN NOT MATCHED BY SOURCE
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.evaluated_at BETWEEN @first AND @last
  AND @full AND (@whole OR T.recorder = @recorder) AND COALESCE(T.updated_at, T.created_at) <= @read_at
  AND COALESCE(T.source, T.recorder, '') != 'model' AND T.node_key NOT IN UNNEST(@failed)
THEN DELETE;

MERGE {{table "context_cross_links"}} AS T
USING {{table .Links}} AS S
ON T.link_key = S.link_key
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.evaluated_at BETWEEN @from AND @to
WHEN NOT MATCHED BY TARGET THEN INSERT
  (link_id, span_id, session_id, biz_node_id, node_value, link_type, artifact_uri, created_at, link_key, node_key, biz_key,
   app_name, user_id, source, evaluated_at, recorder, updated_at, first_evaluated_at)
  VALUES
  (S.link_id, S.span_id, S.session_id, S.biz_node_id, S.node_value, S.link_type, S.artifact_uri, S.created_at, S.link_key,
   S.node_key, S.biz_key, S.app_name, S.user_id, S.source, S.evaluated_at, S.recorder, S.updated_at, S.first_evaluated_at);

MERGE {{table "world_change_checks"}} AS T
USING {{table .Checks}} AS S
ON T.check_id = S.check_id
WHEN MATCHED
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.checked_at BETWEEN @from AND @to
  AND @full AND T.created_at <= @read_at
  AND TO_JSON_STRING(STRUCT(
    T.verdict, T.stage, T.approval_id, T.confirmation_id, T.call_id, T.tool, T.entities_checked, T.stale_entities,
    T.failed_entities, T.alerts, T.detail, T.node_key))
  != TO_JSON_STRING(STRUCT(
    S.verdict, S.stage, S.approval_id, S.confirmation_id, S.call_id, S.tool, S.entities_checked, S.stale_entities,
    S.failed_entities, S.alerts, S.detail, S.node_key))
THEN UPDATE SET
  verdict = S.verdict, stage = S.stage, approval_id = S.approval_id, confirmation_id = S.confirmation_id, call_id = S.call_id,
  tool = S.tool, entities_checked = S.entities_checked, stale_entities = S.stale_entities, failed_entities = S.failed_entities,
  alerts = S.alerts, detail = S.detail, node_key = S.node_key, recorder = S.recorder
WHEN NOT MATCHED BY SOURCE
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.checked_at BETWEEN @first AND @last
  AND @full AND (@whole OR T.recorder = @recorder) AND T.created_at <= @read_at
THEN DELETE;

MERGE {{table "world_change_checks"}} AS T
USING {{table .Checks}} AS S
ON T.check_id = S.check_id
  AND T.app_name = @app AND T.user_id = @user AND T.session_id = @session
  AND T.checked_at BETWEEN @from AND @to
WHEN NOT MATCHED BY TARGET THEN INSERT
  (check_id, app_name, user_id, session_id, checked_at, verdict, stage, approval_id, confirmation_id, call_id, tool,
   entities_checked, stale_entities, failed_entities, alerts, detail, recorder, created_at, node_key)
  VALUES
  (S.check_id, S.app_name, S.user_id, S.session_id, S.checked_at, S.verdict, S.stage, S.approval_id, S.confirmation_id,
   S.call_id, S.tool, S.entities_checked, S.stale_entities, S.failed_entities, S.alerts, S.detail, S.recorder, S.created_at,
   S.node_key);

COMMIT TRANSACTION;

-- Two that bring a session for the first time at one moment both only insert, for which
-- BigQuery cancels neither, and each does not see the rows of the other: a key may have
-- two rows. Whoever committed last sees both here, and sync_unique mends it.
SELECT
  (SELECT COUNT(*) - COUNT(DISTINCT node_key) FROM {{table "tech_nodes"}}
    WHERE app_name = @app AND user_id = @user AND session_id = @session AND start_time BETWEEN @from AND @to) +
  (SELECT COUNT(*) - COUNT(DISTINCT edge_key) FROM {{table "caused_edges"}}
    WHERE app_name = @app AND user_id = @user AND session_id = @session AND occurred_at BETWEEN @from AND @to) +
  (SELECT COUNT(*) - COUNT(DISTINCT biz_key) FROM {{table "extracted_biz_nodes"}}
    WHERE app_name = @app AND user_id = @user AND session_id = @session AND evaluated_at BETWEEN @from AND @to) +
  (SELECT COUNT(*) - COUNT(DISTINCT link_key) FROM {{table "context_cross_links"}}
    WHERE app_name = @app AND user_id = @user AND session_id = @session AND evaluated_at BETWEEN @from AND @to) +
  (SELECT COUNT(*) - COUNT(DISTINCT check_id) FROM {{table "world_change_checks"}}
    WHERE app_name = @app AND user_id = @user AND session_id = @session AND checked_at BETWEEN @from AND @to) AS twice;
