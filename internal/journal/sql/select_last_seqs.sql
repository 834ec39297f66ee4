-- The last rows of the sessions that are left.
SELECT last_seq FROM sessions WHERE events > 0
