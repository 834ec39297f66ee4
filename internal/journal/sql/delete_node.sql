DELETE FROM tech_nodes WHERE key = ?1
