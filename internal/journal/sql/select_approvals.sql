-- Of one session, oldest first; NULL for the call matches all.
SELECT id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, requester,
  requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, replaces, chain, difference, not_chosen,
  requester_authenticated, approvers, consents, change, overridden
FROM approvals
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND (?4 IS NULL OR call_id = ?4)
ORDER BY number
