-- name: select_server
-- It reads the tables of the catalog, because what the server caches of them may be from before a lock.
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
  EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'contextgraph' AND tablename = 'meta')

-- name: lock_schema
-- Until the transaction ends: two programs that start at once make one schema.
SELECT pg_advisory_xact_lock(718353471)

-- name: insert_meta
INSERT INTO contextgraph.meta (version, id, secret) VALUES ($1, $2, $3)

-- name: select_meta
SELECT version, id, secret FROM contextgraph.meta
