-- name: insert_approval
WITH made AS (
  INSERT INTO contextgraph.approvals (id, session, call_key, confirmation_key, confirmation_id, replaces, tool, args_digest, state,
    expires_at, attempt, head, long, args)
  VALUES ($1, $2, $3, $4, $5, nullif($6, ''), $7, $8, $9, $10, $11, $12, $13, $14)
  RETURNING id
)
INSERT INTO contextgraph.steps (approval, number, attempt, step)
SELECT id, 1, $11, $15 FROM made

-- name: select_approvals
-- Oldest first. An empty text selects all of a session. With $6 without what is long, which is not read then.
SELECT s.app_name, s.user_id, s.session_id, a.confirmation_id, a.version, a.head,
  CASE WHEN $6 THEN '' ELSE a.long END, CASE WHEN $6 THEN '' ELSE a.args END, CASE WHEN $6 THEN '' ELSE a.report END,
  a.state IN ('pending', 'approved', 'permitted') AND coalesce(a.timeline <> contextgraph.timeline(), false)
FROM contextgraph.approvals AS a
JOIN contextgraph.sessions AS s ON s.key = a.session
WHERE ($1 <> '' AND a.id = $1 OR $1 = '' AND a.session = $2 AND ($3 = '' OR a.confirmation_id = $3)
  AND ($4 = '' OR a.tool = $4) AND ($5 = '' OR a.args_digest = $5))
ORDER BY a.number

-- name: attach_approval
UPDATE contextgraph.approvals SET confirmation_key = $3, confirmation_id = $4, attempt = $5
WHERE id = $1 AND version = $2 AND confirmation_key IS NULL

-- name: move_approval
-- Changes an approval that is still as it was read, and adds the steps. $11 seconds of a lease begin with an effect. One of
-- another timeline may only end.
WITH moved AS (
  UPDATE contextgraph.approvals SET
    version = version + cardinality($9::text[]), attempt = $3, state = $4, open = $5, head = $6,
    report = CASE WHEN $7 = '' THEN report ELSE $7 END, permit_run = $8,
    lease_until = CASE WHEN $10 THEN clock_timestamp() + make_interval(secs => $11) END,
    timeline = DEFAULT
  WHERE id = $1 AND version = $2 AND confirmation_id = $12
    AND (NOT $5 OR coalesce(timeline = contextgraph.timeline(), true))
  RETURNING id
)
INSERT INTO contextgraph.steps (approval, number, attempt, step)
SELECT m.id, $2 + s.place, $3, s.step
FROM moved AS m
CROSS JOIN unnest($9::text[]) WITH ORDINALITY AS s (step, place)

-- name: select_attempt
-- Waits for a transaction that changes the approval, and says whether the attempt with an id took effect.
SELECT a.attempt = $2 OR EXISTS (SELECT 1 FROM contextgraph.steps AS t WHERE t.approval = a.id AND t.attempt = $2)
FROM contextgraph.approvals AS a
WHERE a.id = $1
FOR UPDATE OF a

-- name: renew_leases
-- A lease that is over stays over: somebody may have been told so.
UPDATE contextgraph.approvals SET lease_until = clock_timestamp() + make_interval(secs => $2)
WHERE id = ANY ($1::text[]) AND state = 'executing' AND lease_until > clock_timestamp()
RETURNING id

-- name: end_lease
-- Whoever looks at an effect whose holder is silent makes it an effect in doubt.
UPDATE contextgraph.approvals SET lease_until = NULL
WHERE session = $1 AND permit_run = $2 AND state = 'executing' AND lease_until <= clock_timestamp()

-- name: select_leased
SELECT EXISTS (
  SELECT 1 FROM contextgraph.approvals
  WHERE session = $1 AND permit_run = $2 AND state = 'executing' AND lease_until > clock_timestamp()
)

-- name: select_open_requests
-- The sessions with a request that may still be answered, the one that expires first first.
SELECT s.app_name, s.user_id, s.session_id
FROM contextgraph.approvals AS a
JOIN contextgraph.sessions AS s ON s.key = a.session
WHERE a.open AND a.state IN ('pending', 'approved') AND a.expires_at > $1
GROUP BY s.key
ORDER BY min(a.expires_at)
LIMIT $2

-- name: select_requested
-- The newest first. An empty application or user matches all.
SELECT s.app_name, s.user_id, s.session_id
FROM contextgraph.approvals AS a
JOIN contextgraph.sessions AS s ON s.key = a.session
WHERE (starts_with(a.id, $1) OR starts_with(a.confirmation_id, $1) AND a.confirmation_id <> '')
  AND ($2 = '' OR s.app_name = $2) AND ($3 = '' OR s.user_id = $3)
GROUP BY s.key
ORDER BY max(a.number) DESC
LIMIT $4
