-- The journal, version 6: what a session is about and where it stands is found without
-- reading it: the messages of its user, the requests to humans, the answers and the checks.
CREATE INDEX agent_events_milestones ON agent_events (app_name, user_id, session_id, seq)
  WHERE event_type IN (
    'USER_MESSAGE_RECEIVED', 'WORLD_CHANGE_CHECK',
    'HITL_CONFIRMATION_REQUEST', 'HITL_CONFIRMATION_REQUEST_COMPLETED',
    'HITL_CREDENTIAL_REQUEST', 'HITL_CREDENTIAL_REQUEST_COMPLETED',
    'HITL_INPUT_REQUEST', 'HITL_INPUT_REQUEST_COMPLETED');
