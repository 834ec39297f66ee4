-- Its dead letters go with it.
DELETE FROM destinations WHERE id = ?1
