-- name: select_steps
SELECT step FROM contextgraph.steps WHERE approval = $1 ORDER BY number
