UPDATE dead_letters SET bytes = ?3, code = ?4, reason = ?5, at = ?6
WHERE destination = ?1 AND seq = ?2
