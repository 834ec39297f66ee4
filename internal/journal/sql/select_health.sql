-- What a journal holds, and what it is known to have lost.
SELECT
  (SELECT count(*) FROM sessions WHERE events > 0),
  (SELECT coalesce(sum(events), 0) FROM sessions),
  (SELECT min(first_time) FROM sessions WHERE events > 0),
  (SELECT max(last_time) FROM sessions WHERE events > 0),
  (SELECT count(*) FROM lost_rows),
  (SELECT coalesce(sum(rows), 0) FROM lost_rows)
