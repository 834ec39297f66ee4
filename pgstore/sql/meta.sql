-- name: select_server
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), to_regclass('contextgraph.meta') IS NOT NULL

-- name: lock_schema
-- Until the transaction ends: two programs that start at once make one schema.
SELECT pg_advisory_xact_lock(718353471)

-- name: insert_meta
INSERT INTO contextgraph.meta (version, id, secret) VALUES ($1, $2, $3)

-- name: select_meta
SELECT version, id, secret FROM contextgraph.meta
