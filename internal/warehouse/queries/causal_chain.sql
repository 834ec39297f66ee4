-- What led to the approvals of a session: each step that leads to one, near ones first, over at most 20 edges of any
-- kind.
GRAPH {{graph}}
MATCH ANY SHORTEST
  (decision:TechNode WHERE decision.approval
    AND decision.app_name = @app AND decision.user_id = @user AND decision.session_id = @session
    AND decision.session_day BETWEEN {{days}})
  <-[caused:Caused WHERE caused.app_name = @app AND caused.user_id = @user AND caused.session_id = @session
    AND caused.session_day BETWEEN {{days}}]-{1,20}
  (step:TechNode)
RETURN
  decision.node_key AS decision, ARRAY_LENGTH(caused) AS edges, step.kind AS kind, step.name AS name, step.agent AS agent,
  step.start_time AS start_time, step.node_key AS node_key
ORDER BY decision, edges, start_time
LIMIT 1000
