-- A new destination begins with the oldest row there is.
INSERT INTO destinations (name, cursor, owner, lease_until) VALUES (?1, 0, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
