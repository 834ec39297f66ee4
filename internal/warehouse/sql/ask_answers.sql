-- What humans answered to the confirmations that the rows @events ask for, up to @until, in order.
WITH
  asked AS (
    SELECT JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id
    FROM {{events}}
    WHERE (user_id = @user OR (@user = '' AND user_id IS NULL)) AND session_id = @session
      AND timestamp BETWEEN @from AND @to
      AND event_type = 'HITL_CONFIRMATION_REQUEST' AND event_id IN UNNEST(@events)
  )
SELECT
  event_id, timestamp AS answered_at,
  JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id,
  JSON_VALUE(attributes, '$.adk.approval_id') AS approval_id,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.confirmed') AS BOOL) AS confirmed,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.accepted') AS BOOL) AS accepted,
  JSON_VALUE(attributes, '$.adk.reason') AS reason,
  JSON_VALUE(attributes, '$.adk.approver') AS approver,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS FLOAT64) AS waited_ms
FROM {{events}}
WHERE (user_id = @user OR (@user = '' AND user_id IS NULL)) AND session_id = @session
  AND timestamp BETWEEN @from AND @until
  AND COALESCE(JSON_VALUE(attributes, '$.adk.app_name'), JSON_VALUE(attributes, '$.session_metadata.app_name'), @app) = @app
  AND event_type = 'HITL_CONFIRMATION_REQUEST_COMPLETED'
  AND JSON_VALUE(attributes, '$.adk.confirmation_id')
    IN (SELECT confirmation_id FROM asked WHERE confirmation_id IS NOT NULL)
{{template "once"}}
ORDER BY timestamp, event_id
LIMIT @limit
