SELECT count(*) FROM agent_events
