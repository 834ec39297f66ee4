UPDATE destinations SET cursor = ?2, state = ?3
WHERE id = ?1
