-- How many rows the sessions lost that lost any, by their last rows.
SELECT s.last_seq, l.rows
FROM lost_rows AS l
JOIN sessions AS s ON s.app_name = l.app_name AND s.user_id = l.user_id AND s.session_id = l.session_id
