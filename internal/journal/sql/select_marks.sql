-- Which state each session with rows is in: nothing that is read of its rows changes while these
-- numbers and those of select_lost_marks.sql do not.
SELECT app_name, user_id, session_id, last_seq, last_time, events
FROM sessions
WHERE events > 0
