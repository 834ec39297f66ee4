-- Which approvals rest on an entity, in all sessions or in those of one application,
-- latest first: the requests for a confirmation between @from and @to to which a path
-- leads from a step that saw the entity before. The search begins at the entity.
--
-- Shortest is by edges of every kind; a path with more than @hops edges of kind informs
-- and resumes does not count.
SELECT
  app_name, user_id, session_id, node_key, name, agent, call_id, decided_at,
  MIN(hops) AS hops,
  COUNT(*) AS sightings,
  MAX(evaluated_at) AS evaluated_at,
  ARRAY_AGG(node_value ORDER BY evaluated_at DESC, node_value LIMIT 1)[OFFSET(0)] AS node_value,
  0 AS searched
FROM
  GRAPH_TABLE(
    {{graph}}
    MATCH ANY SHORTEST
      (entity:BizNode WHERE entity.evaluated_at BETWEEN @from AND @to
        AND (@app = '' OR entity.app_name = @app)
        AND (entity.canonical_key = @entity OR (@type != '' AND entity.node_type = @type AND entity.node_value = @value)))
      <-[evaluated:Evaluated WHERE evaluated.evaluated_at BETWEEN @from AND @to]-
      (step:TechNode)
      -[caused:Caused WHERE caused.occurred_at BETWEEN @from AND @to]->{0,{{.Edges}}}
      (decision:TechNode WHERE decision.approval AND decision.start_time BETWEEN @from AND @to)
    WHERE entity.evaluated_at <= decision.decided_at
    LET hops = COUNTIF(caused.kind != 'contains')
    RETURN
      decision.app_name AS app_name, decision.user_id AS user_id, decision.session_id AS session_id,
      decision.node_key AS node_key, decision.name AS name, decision.agent AS agent, decision.call_id AS call_id,
      decision.decided_at AS decided_at, entity.evaluated_at AS evaluated_at, entity.node_value AS node_value,
      hops
  )
WHERE hops <= @hops
GROUP BY app_name, user_id, session_id, node_key, name, agent, call_id, decided_at
ORDER BY decided_at DESC, node_key
LIMIT @limit
