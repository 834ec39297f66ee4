-- Everything a transition may change. One without a report leaves the last one.
UPDATE approvals SET
  state = ?2, approver = ?3, decided_at = ?4, permit_nonce = ?5, permit_run = ?6,
  permit_expires_at = ?7, verdict = ?8, report = coalesce(?9, report), updated_at = ?10,
  consents = ?11, change = ?12, overridden = ?13
WHERE id = ?1
