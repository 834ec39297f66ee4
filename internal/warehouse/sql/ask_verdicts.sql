-- The checks of what a decision rests on, in order: those of the approvals and
-- confirmations that the rows @events ask for, up to @until.
WITH
  asked AS (
    SELECT
      JSON_VALUE(attributes, '$.adk.approval_id') AS approval_id,
      JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id
    FROM {{events}}
    WHERE (user_id = @user OR (@user = '' AND user_id IS NULL)) AND session_id = @session
      AND timestamp BETWEEN @from AND @to
      AND event_type = 'HITL_CONFIRMATION_REQUEST' AND event_id IN UNNEST(@events)
  )
SELECT
  check_id, checked_at, verdict, stage, approval_id, confirmation_id, call_id, tool,
  entities_checked, stale_entities, failed_entities, alerts
FROM ({{template "checks" "found"}}
  )
WHERE checked_at BETWEEN @from AND @until
  AND (
    approval_id IN (SELECT approval_id FROM asked WHERE approval_id IS NOT NULL)
    OR confirmation_id IN (SELECT confirmation_id FROM asked WHERE confirmation_id IS NOT NULL)
  )
ORDER BY checked_at, check_id
LIMIT @limit
