-- In the columns of select_approval.sql, without those that decide nothing.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, NULL, NULL, fingerprint, policy_version, receipt, NULL, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, NULL, updated_at, replaces, chain, NULL, NULL,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE id = ?1
