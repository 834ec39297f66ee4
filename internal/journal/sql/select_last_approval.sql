-- The last request of a session for a call; one that was rejected in the invocation goes
-- before later ones.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, NULL, NULL, fingerprint, policy_version, receipt, NULL, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, NULL, updated_at, replaces, chain, NULL, NULL,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND tool = ?4 AND args_digest = ?5
ORDER BY (state = 'rejected' AND invocation_id = ?6) DESC, number DESC
LIMIT 1
