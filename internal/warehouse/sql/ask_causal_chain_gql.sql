-- What a step led to, or what led to it: every step that edges of any kind reach, once,
-- near ones first, with the step and the edge that it was reached over. The direction
-- and the bound of a pattern cannot be parameters. The edges of a path are aggregated
-- with LET, in the order of the path: GQL has no subquery over an array.
SELECT
  nodes.node_key, nodes.trace_id, nodes.span_id, nodes.parent_span_id, nodes.kind, nodes.name, nodes.agent,
  nodes.invocation_id, nodes.branch, nodes.call_id, nodes.event_types, nodes.event_ids, nodes.start_time,
  nodes.end_time, nodes.status, nodes.error_message, nodes.latency_ms, nodes.position,
  ARRAY_LENGTH(chain.nears) AS hops,
  chain.nears[ORDINAL(ARRAY_LENGTH(chain.nears))] AS via,
  chain.kinds[ORDINAL(ARRAY_LENGTH(chain.kinds))] AS edge
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH ANY SHORTEST
      (origin:TechNode WHERE origin.node_key = @node
        AND origin.app_name = @app AND origin.user_id = @user AND origin.session_id = @session
        AND origin.start_time BETWEEN @from AND @to AND origin.session_day BETWEEN @first_day AND @last_day)
      {{if .Backwards}}<{{end}}-[caused:Caused WHERE caused.app_name = @app AND caused.user_id = @user AND caused.session_id = @session
        AND caused.occurred_at BETWEEN @from AND @to AND caused.session_day BETWEEN @first_day AND @last_day]-{{if not .Backwards}}>{{end}}{1,{{.Hops}}}
      (step:TechNode)
    LET
      nears = ARRAY_AGG(caused.{{if .Backwards}}to_key{{else}}from_key{{end}}),
      kinds = ARRAY_AGG(caused.kind)
    RETURN step.node_key AS node_key, nears, kinds
  ) AS chain
JOIN ({{template "tech_nodes" "found"}}
  ) AS nodes ON nodes.node_key = chain.node_key
WHERE nodes.start_time BETWEEN @from AND @to
ORDER BY hops, nodes.position
LIMIT @limit
