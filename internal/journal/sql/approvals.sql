-- name: insert_approval
INSERT INTO approvals (
  id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, replaces, chain,
  difference, requester, requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, consents, change, overridden, not_chosen,
  requester_authenticated, approvers, session
) VALUES (
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
  ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34,
  ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44
)

-- name: select_approval
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, replaces, chain, difference, not_chosen,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE id = ?1

-- name: select_approval_state
-- In the columns of select_approval, without those that decide nothing.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, NULL, NULL, fingerprint, policy_version, receipt, NULL, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, NULL, updated_at, replaces, chain, NULL, NULL,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE id = ?1

-- name: select_last_approval
-- The last request of a session for a call; one that was rejected in the invocation goes
-- before later ones.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, NULL, NULL, fingerprint, policy_version, receipt, NULL, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, NULL, updated_at, replaces, chain, NULL, NULL,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3) AND tool = ?4 AND args_digest = ?5
ORDER BY (state = 'rejected' AND invocation_id = ?6) DESC, number DESC
LIMIT 1

-- name: select_last_change
-- The last request of a session for a tool that was rejected with a wish for a change and that
-- no other request replaces.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, NULL, NULL, fingerprint, policy_version, receipt, NULL, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, NULL, updated_at, replaces, chain, NULL, NULL,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals AS a
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3) AND tool = ?4 AND change IS NOT NULL
  AND state = 'rejected' AND NOT EXISTS (SELECT 1 FROM approvals AS b WHERE b.replaces = a.id)
ORDER BY number DESC
LIMIT 1

-- name: select_confirmed
-- The request that a confirmation of a session answers.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, replaces, chain, difference, not_chosen,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals INDEXED BY approvals_confirmation
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3) AND confirmation_id = ?4

-- name: select_approvals
-- Of one session, oldest first; NULL for the call matches all.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, replaces, chain, difference, not_chosen,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3) AND (?4 IS NULL OR call_id = ?4)
ORDER BY number

-- name: select_standing
-- Where the approvals of one session stand, oldest first.
SELECT id, confirmation_id, call_id, tool, requested_at, expires_at, state, permit_expires_at, verdict, updated_at, overridden
FROM approvals
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
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
WHERE id = ?1 AND state = 'pending' AND confirmation_id IS NULL

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
