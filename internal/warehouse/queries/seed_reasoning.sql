-- From a kind of step over its effects to an entity that one of them saw, in the words of the design of the context graph for
-- the plugin for Python.
GRAPH {{graph}}
MATCH
  (decision:TechNode)-[c:Caused]->{1,20}(step:TechNode)
  -[e:Evaluated]->(biz:BizNode)
WHERE decision.event_type = @decision_event_type
  AND biz.node_value = @biz_entity
RETURN
  decision.span_id AS decision_span_id,
  step.span_id AS reasoning_span_id,
  step.event_type AS step_type,
  step.agent AS step_agent,
  biz.node_type AS entity_type,
  biz.node_value AS entity_value,
  biz.confidence AS entity_confidence,
  biz.artifact_uri AS artifact_uri
ORDER BY step.timestamp ASC
