-- The same over the views, as that documentation has it.
SELECT
  paused.tool_name,
  paused.pause_kind,
  paused.timestamp AS paused_at,
  resumed.timestamp AS resumed_at,
  TIMESTAMP_DIFF(resumed.timestamp, paused.timestamp, SECOND) AS paused_seconds
FROM {{view "tool_paused"}} AS paused
JOIN {{view "tool_completed"}} AS resumed
  USING (session_id, user_id, function_call_id)
WHERE paused.pause_kind = 'tool'
ORDER BY paused_at
