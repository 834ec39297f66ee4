-- name: select_server
-- It reads the tables of the catalog, because what the server caches of them may be from before a lock.
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
  EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'contextgraph' AND tablename = 'meta')

-- name: bound
-- The first statement of each transaction. A server that hears no more of its client frees what it has locked. The steps of
-- an approval are not acknowledged before they are on the disk, whatever the server does else.
SELECT set_config('statement_timeout', '15s', true), set_config('idle_in_transaction_session_timeout', '15s', true),
  set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
    THEN 'on' ELSE current_setting('synchronous_commit') END, true)

-- name: bound_rows
-- As bound, where a transaction has rows alone: they are as durable as the server makes them.
SELECT set_config('statement_timeout', '15s', true), set_config('idle_in_transaction_session_timeout', '15s', true)

-- name: lock_schema
-- Until the transaction ends: two programs that start at once make one schema.
SELECT pg_advisory_xact_lock(718353471)

-- name: insert_meta
INSERT INTO contextgraph.meta (version, id, secret) VALUES ($1, $2, $3)

-- name: select_meta
SELECT version, id, secret FROM contextgraph.meta

-- name: update_meta
UPDATE contextgraph.meta SET version = $1

-- name: select_health
-- What a role may not see of standbys is NULL.
SELECT current_setting('server_version_num')::int / 10000, clock_timestamp(), current_setting('synchronous_commit'), pg_is_in_recovery(), pg_backend_pid(),
  ARRAY(SELECT coalesce(application_name, '?') FROM pg_catalog.pg_stat_replication
    WHERE coalesce(sync_state, 'async') = 'async' ORDER BY 1)

-- name: select_missing_rights
-- Of the role of an agent.
SELECT n.name || ' on ' || t.name
FROM (VALUES
  ('sessions', 'SELECT,INSERT,UPDATE'), ('rows', 'SELECT,INSERT,DELETE'), ('child_sessions', 'SELECT,INSERT,DELETE'),
  ('lost_rows', 'SELECT,INSERT,UPDATE'), ('approvals', 'SELECT,INSERT,UPDATE'), ('steps', 'SELECT,INSERT'),
  ('rules', 'SELECT,INSERT,UPDATE'), ('summaries', 'SELECT,INSERT,UPDATE'), ('destinations', 'SELECT,INSERT,UPDATE,DELETE'),
  ('unsent', 'SELECT,INSERT,UPDATE,DELETE'), ('dead_letters', 'SELECT,INSERT,UPDATE,DELETE'), ('meta', 'SELECT')
) AS t (name, rights)
CROSS JOIN unnest(string_to_array(t.rights, ',')) AS n (name)
WHERE NOT has_table_privilege('contextgraph.' || t.name, n.name)
UNION ALL
SELECT 'USAGE on row_seq' WHERE NOT has_sequence_privilege('contextgraph.row_seq', 'USAGE')
