-- name: insert_event
-- A row that is delivered twice is stored once: event_id remembers it.
INSERT INTO agent_events (
  seq, session, app_name, run_id, run_seq,
  timestamp, event_id, event_type, agent, session_id, invocation_id, user_id,
  trace_id, span_id, parent_span_id, content, content_parts, attributes,
  latency_ms, status, error_message, is_truncated
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
ON CONFLICT (event_id) DO NOTHING

-- name: select_events
-- In the columns of select_rows, without those that the caller knows.
SELECT seq, run_seq, timestamp, is_truncated,
  NULL, NULL, NULL, run_id, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, status, error_message,
  content, content_parts, attributes, latency_ms
FROM agent_events INDEXED BY agent_events_session
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3) AND seq > ?4
ORDER BY seq
LIMIT +?5

-- name: select_row
-- In the columns of select_rows.
SELECT seq, run_seq, timestamp, is_truncated,
  app_name, user_id, session_id, run_id, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, status, error_message,
  content, content_parts, attributes, latency_ms
FROM agent_events
WHERE event_id = ?1

-- name: select_stored
SELECT 1 FROM agent_events WHERE event_id = ?1

-- name: select_rows
-- Of all sessions, in the order of recording.
SELECT seq, run_seq, timestamp, is_truncated,
  app_name, user_id, session_id, run_id, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, status, error_message,
  content, content_parts, attributes, latency_ms
FROM agent_events
WHERE seq > ?1
ORDER BY seq
LIMIT +?2

-- name: select_outline
-- All rows of one session in order, without payloads: of model calls the names of the
-- models and the tokens stay. An answer is read only as far as the members named here.
-- In the columns of select_events.
SELECT seq, run_seq, timestamp, is_truncated,
  NULL, NULL, NULL, run_id, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, status, error_message,
  CASE WHEN event_type = 'LLM_RESPONSE' AND json_valid(content)
    THEN json_object('usage', json(content -> '$.usage')) END,
  NULL,
  CASE WHEN event_type IN ('LLM_REQUEST', 'LLM_RESPONSE') AND json_valid(attributes)
    THEN json_object('model', attributes ->> '$.model', 'model_version', attributes ->> '$.model_version',
      'usage_metadata', json(attributes -> '$.usage_metadata')) END,
  NULL
FROM agent_events INDEXED BY agent_events_session
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
ORDER BY seq

-- name: select_milestones
-- Of one session, in order. The content of checks is long and says nothing here that the
-- attributes do not; with ?4 = 0 that of requests and answers is left out as well.
-- In the columns of select_events.
SELECT seq, run_seq, timestamp, is_truncated,
  NULL, NULL, NULL, run_id, event_id, event_type, agent, invocation_id,
  trace_id, span_id, parent_span_id, status, error_message,
  CASE WHEN event_type = 'USER_MESSAGE_RECEIVED' OR (?4 AND event_type <> 'WORLD_CHANGE_CHECK') THEN content END,
  NULL, CASE WHEN event_type <> 'USER_MESSAGE_RECEIVED' THEN attributes END,
  NULL
FROM agent_events INDEXED BY agent_events_session
WHERE session = (SELECT number FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3)
  AND event_type IN (
    'USER_MESSAGE_RECEIVED', 'WORLD_CHANGE_CHECK', 'AGENT_STATE_CHECKPOINT',
    'HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED',
    'HITL_CREDENTIAL_REQUEST', 'HITL_CREDENTIAL_REQUEST_COMPLETED',
    'HITL_INPUT_REQUEST', 'HITL_INPUT_REQUEST_COMPLETED')
ORDER BY seq

-- name: select_triggers
SELECT e.seq, s.app_name, s.user_id, s.session_id
FROM agent_events AS e INDEXED BY agent_events_approvals
JOIN sessions AS s ON s.number = e.session
WHERE e.seq > ?1 AND e.seq <= ?2
  AND e.event_type IN ('HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED', 'WORLD_CHANGE_CHECK')
ORDER BY e.seq
LIMIT +?3

-- name: select_last_seq
SELECT coalesce(max(seq), 0) FROM agent_events

-- name: select_removable_rows
-- Of the session with the number ?1.
-- octet_length tells the size of a payload without reading it.
SELECT seq,
  coalesce(octet_length(content), 0) + coalesce(octet_length(content_parts), 0) + coalesce(octet_length(attributes), 0) AS bytes
FROM agent_events INDEXED BY agent_events_session
WHERE session = ?1 AND seq <= ?2
ORDER BY seq
LIMIT +?3

-- name: remove_rows
DELETE FROM agent_events INDEXED BY agent_events_session
WHERE session = ?1 AND seq <= ?2
