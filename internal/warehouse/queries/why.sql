-- Why: the entities that the approvals of a session rest on, each with a shortest path of at most 20 steps from where it
-- was seen. The search begins at the request for the approval. Nothing that was seen after the request counts.
GRAPH {{graph}}
MATCH ANY SHORTEST
  (decision:TechNode WHERE decision.approval
    AND decision.app_name = @app AND decision.user_id = @user AND decision.session_id = @session
    AND decision.session_day BETWEEN {{days}})
  <-[caused:Caused WHERE caused.app_name = @app AND caused.user_id = @user AND caused.session_id = @session
    AND caused.session_day BETWEEN {{days}}]-{0,20}
  (step:TechNode)
  -[evaluated:Evaluated WHERE evaluated.app_name = @app AND evaluated.user_id = @user AND evaluated.session_id = @session
    AND evaluated.session_day BETWEEN {{days}}]->
  (entity:BizNode)
WHERE entity.evaluated_at <= decision.decided_at OR entity.first_evaluated_at <= decision.decided_at
LET hops = COUNTIF(caused.kind != 'contains'), path = ARRAY_AGG(caused.from_key)
RETURN
  decision.node_key AS decision, decision.name AS tool, decision.decided_at AS decided_at,
  entity.node_type AS entity_type, entity.node_value AS entity_value, step.name AS seen_in, step.agent AS agent, hops, path
ORDER BY decided_at, hops, entity_type, entity_value
LIMIT 1000
