-- name: insert_approval
INSERT INTO approvals (
  id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, replaces, chain,
  difference, requester, requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, consents, change, overridden, not_chosen,
  requester_authenticated, approvers, declaration, session, surroundings
) VALUES (
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
  ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34,
  ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46
)

-- name: select_approvals
-- Those with the id ?4; without one those of a session, with a confirmation ?5, or for a tool ?6 and for
-- arguments with the digest ?7; an empty text selects all. Oldest first. With ?8 without what can be long,
-- which is not even read then.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, CASE WHEN ?8 THEN NULL ELSE args END, CASE WHEN ?8 THEN NULL ELSE entities END,
  fingerprint, policy_version, receipt, CASE WHEN ?8 THEN NULL ELSE gaps END, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, CASE WHEN ?8 THEN NULL ELSE report END, updated_at, replaces, chain,
  CASE WHEN ?8 THEN NULL ELSE difference END, CASE WHEN ?8 THEN NULL ELSE not_chosen END,
  requester_authenticated, approvers, consents, change, overridden, declaration,
  CASE WHEN ?8 THEN NULL ELSE surroundings END
FROM approvals
WHERE number IN (
  SELECT a.number FROM approvals AS a WHERE ?4 <> '' AND a.id = ?4
  UNION ALL
  SELECT a.number FROM approvals AS a
  WHERE ?4 = '' AND ?6 = ''
    AND a.session = (SELECT s.number FROM sessions AS s WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.session_id = ?3)
    AND (?5 = '' OR a.confirmation_id = ?5)
  UNION ALL
  SELECT a.number FROM approvals AS a
  WHERE ?4 = '' AND ?6 <> ''
    AND a.session = (SELECT s.number FROM sessions AS s WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.session_id = ?3)
    AND a.tool = ?6 AND (?7 = '' OR a.args_digest = ?7)
)
ORDER BY number

-- name: select_open_requests
-- The sessions with a request that may still be answered, the one that expires first first.
SELECT app_name, user_id, session_id
FROM approvals INDEXED BY approvals_open
WHERE state IN ('pending', 'approved') AND expires_at > ?1
  AND open = 1
GROUP BY app_name, user_id, session_id
ORDER BY min(expires_at)
LIMIT +?2

-- name: select_requested
-- The sessions with an approval whose id, or that of its confirmation, begins with a text, the newest
-- first. An empty application or user matches all.
SELECT app_name, user_id, session_id
FROM approvals
WHERE (id >= ?1 AND id < ?2 OR confirmation_id >= ?1 AND confirmation_id < ?2)
  AND (?3 = '' OR app_name = ?3) AND (?4 = '' OR user_id = ?4)
GROUP BY app_name, user_id, session_id
ORDER BY max(number) DESC
LIMIT +?5

-- name: attach_approval
UPDATE approvals SET confirmation_id = ?2
WHERE id = ?1 AND confirmation_id IS NULL

-- name: update_approval
-- Everything a transition may change. One without a report leaves the last one.
UPDATE approvals SET
  state = ?2, approver = ?3, decided_at = ?4, permit_nonce = ?5, permit_run = ?6,
  permit_expires_at = ?7, verdict = ?8, report = coalesce(?9, report), updated_at = ?10,
  consents = ?11, change = ?12, overridden = ?13
WHERE id = ?1

-- name: close_approval
UPDATE approvals SET open = 0
WHERE id = ?1
