-- name: select_summaries
SELECT s.app_name, s.user_id, s.session_id, s.last_seq, s.last_time, s.events, m.summary, m.words, m.more
FROM contextgraph.sessions AS s
LEFT JOIN contextgraph.summaries AS m ON m.session = s.key AND m.until > $1
  AND m.last_seq = s.last_seq AND m.events = s.events AND m.lost = s.lost
  AND m.steps = (SELECT coalesce(sum(a.version), 0) FROM contextgraph.approvals AS a WHERE a.session = s.key)
WHERE s.events > 0

-- name: keep_summary
INSERT INTO contextgraph.summaries (session, last_seq, events, lost, steps, until, summary, words, more)
SELECT s.key, s.last_seq, s.events, s.lost, $5::bigint, $6::bigint, $7, $8::bytea, $9::bytea
FROM contextgraph.sessions AS s
WHERE s.key = $1 AND s.last_seq = $2 AND s.events = $3 AND s.lost = $4
  AND $5 = (SELECT coalesce(sum(a.version), 0) FROM contextgraph.approvals AS a WHERE a.session = s.key)
ON CONFLICT (session) DO UPDATE SET last_seq = excluded.last_seq, events = excluded.events, lost = excluded.lost,
  steps = excluded.steps, until = excluded.until, summary = excluded.summary, words = excluded.words, more = excluded.more
