-- In the transaction that removes ?5 rows: the session is never without a part of
-- its rows and without this mark.
UPDATE sessions SET removing = 1, removed_to = ?4, removed = removed + ?5, events = events - ?5
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
