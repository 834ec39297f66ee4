-- Each event once: rows are delivered at least once, and event_id is minted before the
-- first delivery. Rows without an event_id, of writers that have none, are all shown.
-- Copies agree in every column, so which one is shown does not matter, and the other
-- columns of the window change nothing but this: a condition on a column that the window
-- is partitioned by can be applied before the window, so that a query that names a time,
-- an event type, an agent, a user or a session reads those partitions and blocks alone.
SELECT
{{- range $i, $c := .Columns}}{{if $i}},{{end}}
  {{$c.Name}}{{end}}
FROM {{events}}
WHERE TRUE
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1
