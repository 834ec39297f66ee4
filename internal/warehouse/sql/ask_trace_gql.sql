-- The edges between the steps of a session, in the order of the steps they lead to.
GRAPH {{graph}}
MATCH
  (cause:TechNode WHERE cause.app_name = @app AND cause.user_id = @user AND cause.session_id = @session
    AND cause.start_time BETWEEN @from AND @to AND cause.session_day BETWEEN @first_day AND @last_day)
  -[caused:Caused WHERE caused.app_name = @app AND caused.user_id = @user AND caused.session_id = @session
    AND caused.occurred_at BETWEEN @from AND @to AND caused.session_day BETWEEN @first_day AND @last_day]->
  (effect:TechNode)
RETURN caused.from_key AS from_key, caused.to_key AS to_key, caused.kind AS kind
ORDER BY effect.position, cause.position, caused.kind
LIMIT @limit
