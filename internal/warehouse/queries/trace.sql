-- The edges between the steps of a session, in the order of the steps they lead to.
GRAPH {{graph}}
MATCH
  (cause:TechNode WHERE cause.app_name = @app AND cause.user_id = @user AND cause.session_id = @session
    AND cause.session_day BETWEEN {{days}})
  -[caused:Caused WHERE caused.app_name = @app AND caused.user_id = @user AND caused.session_id = @session
    AND caused.session_day BETWEEN {{days}}]->
  (effect:TechNode)
RETURN
  cause.kind AS cause_kind, cause.name AS cause, caused.kind AS edge, effect.kind AS effect_kind, effect.name AS effect,
  effect.position AS position, cause.position AS cause_position
ORDER BY position, cause_position, edge
LIMIT 10000
