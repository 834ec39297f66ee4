SELECT coalesce(max(seq), 0) FROM agent_events
