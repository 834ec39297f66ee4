INSERT INTO approvals (
  id, app_name, user_id, session_id, confirmation_id, call_id, tool, agent,
  invocation_id, run_id, decision_node, answer_event, after_event, trace_id, span_id,
  args_digest, args, entities, fingerprint, policy_version, receipt, gaps, replaces, chain,
  difference, requester, requested_at, expires_at, state, approver, decided_at, permit_nonce, permit_run,
  permit_expires_at, verdict, report, updated_at, consents, change, overridden, not_chosen,
  requester_authenticated, approvers
) VALUES (
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
  ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34,
  ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43
)
