-- The last request of a session for a tool that was rejected with a wish for a change and that
-- no other request replaces.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, NULL, NULL, fingerprint, policy_version, receipt, NULL, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, NULL, updated_at, replaces, chain, NULL, NULL,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals AS a
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND tool = ?4 AND change IS NOT NULL
  AND state = 'rejected' AND NOT EXISTS (SELECT 1 FROM approvals AS b WHERE b.replaces = a.id)
ORDER BY number DESC
LIMIT 1
