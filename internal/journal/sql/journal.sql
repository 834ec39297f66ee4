-- name: select_journal
SELECT id, secret FROM journal

-- name: select_last_number
-- The greatest seq that a row ever got. sessions know it also where somebody deleted rows by hand.
SELECT max(
  removed_to,
  coalesce((SELECT max(seq) FROM agent_events), 0),
  coalesce((SELECT max(last_seq) FROM sessions WHERE events > 0), 0)
)
FROM journal

-- name: mark_removed_to
UPDATE journal SET removed_to = ?1
WHERE removed_to < ?1

-- name: select_header
-- Whose file it is, of which version, and whether it has any table. One statement, so that all three
-- are of one moment: another process may be creating the journal.
SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id AS a, pragma_user_version AS v

-- name: select_objects
-- Everything in the file that a person can define, but indexes.
SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'

-- name: select_health
-- What a journal holds, and what it is known to have lost.
SELECT
  (SELECT count(*) FROM sessions WHERE events > 0),
  (SELECT coalesce(sum(events), 0) FROM sessions),
  (SELECT min(first_time) FROM sessions WHERE events > 0),
  (SELECT max(last_time) FROM sessions WHERE events > 0),
  (SELECT count(DISTINCT session) FROM lost_rows),
  (SELECT coalesce(sum(rows), 0) FROM lost_rows)

-- name: select_usage
SELECT page_size, page_count, freelist_count
FROM pragma_page_size, pragma_page_count, pragma_freelist_count

-- name: give_back
-- Every page given back is moved first, so a step is a few.
PRAGMA incremental_vacuum(64)
