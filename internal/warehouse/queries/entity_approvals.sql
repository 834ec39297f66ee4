-- The approvals that rest on an entity, in all sessions, latest first: a path of at most 20 steps leads to them from a
-- step that saw it before.
GRAPH {{graph}}
MATCH ANY SHORTEST
  (entity:BizNode WHERE entity.node_type = @type AND entity.node_value = @value
    AND entity.evaluated_at BETWEEN @from AND @to AND entity.session_day BETWEEN {{days}})
  <-[evaluated:Evaluated WHERE evaluated.evaluated_at BETWEEN @from AND @to AND evaluated.session_day BETWEEN {{days}}]-
  (step:TechNode)
  -[caused:Caused WHERE caused.occurred_at BETWEEN @from AND @to AND caused.session_day BETWEEN {{days}}]->{0,20}
  (decision:TechNode WHERE decision.approval
    AND decision.start_time BETWEEN @from AND @to AND decision.session_day BETWEEN {{days}})
WHERE entity.evaluated_at <= decision.decided_at OR entity.first_evaluated_at <= decision.decided_at
LET hops = COUNTIF(caused.kind != 'contains')
RETURN
  decision.app_name AS app_name, decision.user_id AS user_id, decision.session_id AS session_id, decision.name AS tool,
  decision.agent AS agent, decision.decided_at AS decided_at, hops, step.name AS seen_in, entity.evaluated_at AS seen_at
ORDER BY decided_at DESC, hops
LIMIT 1000
