DELETE FROM dead_letters WHERE destination = ?1 AND event_id = ?2
