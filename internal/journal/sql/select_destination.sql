SELECT id, cursor, state, owner, lease_until FROM destinations
WHERE name = ?1
