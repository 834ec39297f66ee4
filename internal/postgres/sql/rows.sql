-- name: insert_rows
-- Stores those rows of a group whose event ids do not stand, and counts them. Their sessions are locked: so no row that
-- another transaction stores gets one of the numbers, and this one may be repeated when nobody knows what became of it.
-- A destination gets its line in unsent here.
WITH input AS (
  SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bool[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[],
    $18::text[], $19::text[]) WITH ORDINALITY
    AS i (session, event_key, run_seq, at, is_truncated, run_id, event_id, event_type, agent, invocation_id, trace_id, span_id,
    parent_span_id, status, error_message, content, content_parts, attributes, latency_ms, place)
), numbered AS (
  SELECT i.*, s.number + row_number() OVER (PARTITION BY i.session ORDER BY i.place) AS number
  FROM input AS i
  JOIN contextgraph.sessions AS s ON s.key = i.session
  WHERE NOT EXISTS (SELECT 1 FROM contextgraph.rows AS r WHERE r.event_key = i.event_key)
), stored AS (
  INSERT INTO contextgraph.rows (session, seq, number, event_key, run_seq, "timestamp", is_truncated, run_id, event_id, event_type,
    agent, invocation_id, trace_id, span_id, parent_span_id, status, error_message, content, content_parts, attributes, latency_ms)
  SELECT session, nextval('contextgraph.row_seq'), number, event_key, run_seq, at, is_truncated, run_id, event_id, event_type,
    agent, invocation_id, trace_id, span_id, parent_span_id, status, error_message, content, content_parts, attributes, latency_ms
  FROM (SELECT * FROM numbered ORDER BY place) AS n
  RETURNING session, seq, "timestamp", agent
), sums AS (
  SELECT session, count(*) AS n, max(seq) AS seq, min("timestamp") AS first, max("timestamp") AS last,
    coalesce(array_agg(DISTINCT agent) FILTER (WHERE agent <> ''), '{}') AS agents
  FROM stored
  GROUP BY session
), pending AS (
  INSERT INTO contextgraph.unsent (destination, session, number)
  SELECT d.id, s.key, s.number
  FROM sums AS n
  JOIN contextgraph.sessions AS s ON s.key = n.session
  CROSS JOIN contextgraph.destinations AS d
  ON CONFLICT DO NOTHING
), counted AS (
  UPDATE contextgraph.sessions AS s SET
    number = s.number + n.n, events = s.events + n.n, last_seq = n.seq,
    first_time = CASE WHEN s.events = 0 THEN n.first ELSE least(s.first_time, n.first) END,
    last_time = CASE WHEN s.events = 0 THEN n.last ELSE greatest(s.last_time, n.last) END,
    agents = CASE WHEN s.agents @> n.agents THEN s.agents
      ELSE ARRAY(SELECT DISTINCT a FROM unnest(s.agents || n.agents) AS a) END
  FROM sums AS n
  WHERE s.key = n.session
)
SELECT count(*) FROM stored

-- name: select_stored
SELECT count(*) FROM contextgraph.rows WHERE event_key = ANY ($1::bytea[])

-- name: select_events
-- At most $3 rows with $4 bytes of payload, but at least one if there is one.
SELECT seq, run_seq, "timestamp", is_truncated, run_id, event_id, event_type, agent, invocation_id, trace_id, span_id,
  parent_span_id, status, error_message, content, content_parts, attributes, latency_ms, number
FROM (
  SELECT r.*, sum(r.size) OVER (ORDER BY r.seq) AS bytes
  FROM (
    SELECT *, octet_length(content) + octet_length(content_parts) + octet_length(attributes) + octet_length(latency_ms)
      + octet_length(error_message) AS size
    FROM contextgraph.rows
    WHERE session = $1 AND seq > $2
    ORDER BY seq
    LIMIT $3
  ) AS r
) AS b
WHERE b.bytes <= $4 OR b.bytes = b.size
ORDER BY seq

-- name: select_outline
-- In the columns of select_events, without the payloads but of model calls.
SELECT seq, run_seq, "timestamp", is_truncated, run_id, event_id, event_type, agent, invocation_id, trace_id, span_id,
  parent_span_id, status, error_message, CASE WHEN event_type = 'LLM_RESPONSE' THEN content ELSE '' END, '',
  CASE WHEN event_type IN ('LLM_REQUEST', 'LLM_RESPONSE') THEN attributes ELSE '' END, '', number
FROM contextgraph.rows
WHERE session = $1
ORDER BY seq

-- name: select_milestones
-- In the columns of select_events. The content of checks says nothing that their attributes do not.
SELECT seq, run_seq, "timestamp", is_truncated, run_id, event_id, event_type, agent, invocation_id, trace_id, span_id,
  parent_span_id, status, error_message, CASE WHEN event_type <> 'WORLD_CHANGE_CHECK' THEN content ELSE '' END, '',
  CASE WHEN event_type <> 'USER_MESSAGE_RECEIVED' THEN attributes ELSE '' END, '', number
FROM contextgraph.rows
WHERE session = $1 AND event_type = ANY ($2::text[])
ORDER BY seq

-- name: select_row
-- In the columns of select_events, with those that name the session.
SELECT r.seq, r.run_seq, r."timestamp", r.is_truncated, r.run_id, r.event_id, r.event_type, r.agent, r.invocation_id, r.trace_id,
  r.span_id, r.parent_span_id, r.status, r.error_message, r.content, r.content_parts, r.attributes, r.latency_ms, r.number,
  s.app_name, s.user_id, s.session_id
FROM contextgraph.rows AS r
JOIN contextgraph.sessions AS s ON s.key = r.session
WHERE r.event_key = $1

-- name: select_unended
-- Whether the end of a run of one of the turns does not stand, or no run of it. Of the turn $3 one run has not ended.
SELECT EXISTS (
  SELECT 1 FROM unnest($2::text[]) AS t (turn)
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.event_type = 'INVOCATION_STARTING') AS started,
      count(*) FILTER (WHERE r.event_type = 'INVOCATION_COMPLETED') + (t.turn = $3)::int AS ended
    FROM contextgraph.rows AS r
    WHERE r.session = $1 AND r.invocation_id = t.turn AND r.event_type IN ('INVOCATION_STARTING', 'INVOCATION_COMPLETED')
  ) AS n
  WHERE n.started = 0 OR n.started > n.ended
)

-- name: remove_rows
DELETE FROM contextgraph.rows
WHERE session = $1 AND seq IN (
  SELECT seq FROM contextgraph.rows WHERE session = $1 AND seq <= $2 ORDER BY seq LIMIT $3
)
