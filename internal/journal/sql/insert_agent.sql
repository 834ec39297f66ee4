INSERT INTO session_agents (app_name, user_id, session_id, agent)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO NOTHING
