UPDATE destinations SET owner = NULL, lease_until = NULL
WHERE name = ?1 AND owner = ?2
