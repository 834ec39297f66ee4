SELECT id, cursor, owner, lease_until FROM destinations
WHERE name = ?1
