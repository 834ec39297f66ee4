-- The days under which the graphs of a session stand. It reads the keys alone, so that every other
-- question about the session has to look at these days only.
SELECT MIN(graphs.session_day) AS first, MAX(graphs.session_day) AS last
FROM {{table "session_graphs"}} AS graphs
WHERE {{template "bounds" "session"}}
