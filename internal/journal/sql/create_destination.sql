-- A new destination begins with the oldest row there is.
INSERT INTO destinations (name, cursor) VALUES (?1, 0)
ON CONFLICT (name) DO NOTHING
