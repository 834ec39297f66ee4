-- Each attribute that a check found changed, with the value before and after.
SELECT
  datetime(e.timestamp / 1000000, 'unixepoch') AS checked, e.session_id,
  e.attributes ->> '$.adk.stage' AS stage,
  alert.value ->> '$.drift_type' AS drift_type,
  alert.value ->> '$.entity_type' AS entity_type, alert.value ->> '$.entity' AS entity,
  alert.value ->> '$.before' AS before, alert.value ->> '$.after' AS after,
  alert.value ->> '$.severity' AS severity
FROM agent_events AS e, json_each(e.content, '$.alerts') AS alert
WHERE e.event_type = 'WORLD_CHANGE_CHECK'
ORDER BY e.seq DESC
LIMIT 100;
