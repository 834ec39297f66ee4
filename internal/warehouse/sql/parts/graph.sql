{{- /*
The graph that the rows of session_graphs tell. The views of the graph show it whole ("all"), and
the questions put the same text into themselves with bounds inside: "session" for one session
(@app, @user, @session), "sessions" for some (@apps, @users, @sessions), "window" for those of one
application or of all (@app), each for the time from @from to @to; "found" for a session whose days
are known (@first_day, @last_day). A bound inside needs no optimizer to get there.
*/ -}}

{{define "bounds"}}
      {{- if eq . "all"}}TRUE
      {{- else}}graphs.session_day BETWEEN {{if eq . "found"}}@first_day AND @last_day{{else}}{{days}}{{end}}
      {{- if or (eq . "session") (eq . "found")}}
        AND graphs.app_name = @app AND graphs.user_id = @user AND graphs.session_id = @session
      {{- else if eq . "sessions"}}
        AND graphs.app_name IN UNNEST(@apps) AND graphs.user_id IN UNNEST(@users) AND graphs.session_id IN UNNEST(@sessions)
      {{- else}}
        AND (@app = '' OR graphs.app_name = @app)
      {{- end}}{{end}}
{{- end}}

{{- /* Views keep the days apart, so that a condition on the day of a session may pass. A question
has its days inside, and goes over all of them: hosts may have begun a session on several days. */ -}}
{{define "day"}}{{if eq . "all"}}session_day, {{end}}{{end}}

{{- /* The steps of the newest whole version of each writer, with copies. A version is whole when
all its parts are there. How far a writer has read comes before its version: a journal that
was restored from a copy counts again from an earlier one. Questions leave out the details of checks,
which are most of their bytes: whether an unread field of an array is billed is not documented. */ -}}
{{define "newest"}}
    SELECT *
    FROM (
      SELECT
        graphs.app_name, graphs.user_id, graphs.session_id, graphs.session_day, graphs.writer, graphs.writer_id,
        graphs.sync_id, graphs.version, graphs.read_to,
        node.node_key, node.trace_id, node.span_id, node.parent_span_id, node.kind, node.name, node.agent,
        node.invocation_id, node.branch, node.call_id, node.approval, node.event_types, node.event_ids,
        node.start_time, node.end_time, node.decided_at, node.status, node.error_message, node.latency_ms,
        node.position, node.caused_by, node.entities, {{if eq . "all"}}node.checks
        {{- else}}ARRAY(SELECT AS STRUCT * EXCEPT (detail) FROM UNNEST(node.checks)) AS checks{{end}}
      FROM {{table "session_graphs"}} AS graphs
      CROSS JOIN UNNEST(graphs.nodes) AS node
      WHERE {{template "bounds" .}}
      QUALIFY COUNT(DISTINCT graphs.part) OVER (
        PARTITION BY graphs.session_day, graphs.app_name, graphs.user_id, graphs.session_id, graphs.writer, graphs.writer_id, graphs.sync_id
      ) = graphs.parts
    )
    WHERE TRUE
    QUALIFY RANK() OVER (
      PARTITION BY session_day, app_name, user_id, session_id, writer, writer_id
      ORDER BY read_to DESC, version DESC, sync_id DESC
    ) = 1
{{- end}}

{{- /* The steps, one row a key. The writer that read most rows of a step owns it, with all that hangs on it. */ -}}
{{define "steps"}}
  SELECT
    app_name, user_id, session_id, session_day, writer, writer_id, version, read_to,
    IF(writer = 'journal', writer_id, writer) AS recorder,
    node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id, approval,
    event_types, event_ids, start_time, end_time, decided_at, status, error_message, latency_ms, position,
    caused_by, entities, checks
  FROM ({{template "newest" .}}
  )
  WHERE TRUE
  QUALIFY ROW_NUMBER() OVER (
    PARTITION BY {{template "day" .}}app_name, user_id, session_id, node_key
    ORDER BY ARRAY_LENGTH(event_ids) DESC, read_to DESC, version DESC, writer, writer_id
  ) = 1
{{- end}}

{{- /* Views stand on the view of the steps. */ -}}
{{define "of_steps"}}
  {{- if eq . "all"}}{{table "graph_steps"}}
  {{- else}}({{template "steps" .}}
  )
  {{- end}}
{{- end}}

{{define "tech_nodes"}}
  SELECT
    node_key, app_name, user_id, session_id, session_day, trace_id, span_id, parent_span_id, kind, name, agent,
    invocation_id, branch, call_id, approval, event_types, event_ids, start_time, end_time, decided_at, status,
    error_message, latency_ms, position, recorder, read_to AS created_at, read_to AS updated_at,
    event_types[SAFE_OFFSET(0)] AS event_type, start_time AS timestamp
  FROM {{template "of_steps" .}}
{{- end}}

{{define "caused_edges"}}
  SELECT
    cause.edge_key, cause.from_key, steps.node_key AS to_key, cause.kind, steps.app_name, steps.user_id,
    steps.session_id, steps.session_day, steps.start_time AS occurred_at, steps.recorder, steps.read_to AS created_at
  FROM {{template "of_steps" .}} AS steps
  CROSS JOIN UNNEST(steps.caused_by) AS cause
{{- end}}

{{- /* The entities of the steps. A step has each once. */ -}}
{{define "biz_nodes"}}
  SELECT
    CONCAT(COALESCE(steps.span_id, ''), ':', seen.node_type, ':', seen.node_value) AS biz_node_id, steps.span_id, steps.session_id,
    seen.node_type, seen.node_value, seen.confidence, seen.artifact_uri, seen.biz_key, steps.node_key, steps.app_name,
    steps.user_id, steps.session_day, steps.trace_id, seen.event_id, seen.canonical_key, seen.norm, seen.attributes,
    seen.source, seen.link_type, seen.evaluated_at, steps.recorder, steps.read_to AS created_at,
    steps.read_to AS updated_at, seen.first_evaluated_at, seen.sightings, seen.echoes
  FROM {{template "of_steps" .}} AS steps
  CROSS JOIN UNNEST(steps.entities) AS seen
{{- end}}

{{define "checks"}}
  SELECT
    check.check_id, steps.app_name, steps.user_id, steps.session_id, steps.session_day, check.checked_at, check.verdict,
    check.stage, check.approval_id, check.confirmation_id, check.call_id, check.tool, check.entities_checked,
    check.stale_entities, check.failed_entities, check.alerts, {{if eq . "all"}}check.detail, {{end}}steps.recorder,
    steps.read_to AS created_at, steps.node_key
  FROM {{template "of_steps" .}} AS steps
  CROSS JOIN UNNEST(steps.checks) AS check
{{- end}}
