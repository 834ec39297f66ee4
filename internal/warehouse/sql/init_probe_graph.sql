GRAPH {{graph}}
MATCH (step:TechNode)
RETURN step.session_day AS session_day
LIMIT 1
