UPDATE destinations SET cursor = ?2
WHERE id = ?1
