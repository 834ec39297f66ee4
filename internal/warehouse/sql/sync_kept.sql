-- The entities that the newest graphs have of some steps of a session, those of the writer that read
-- most of a step first.
SELECT node_key, TO_JSON_STRING(seen) AS entity
FROM ({{template "newest" "session"}}
) AS newest
CROSS JOIN UNNEST(entities) AS seen
WHERE writer != 'model' AND node_key IN UNNEST(@failed)
ORDER BY ARRAY_LENGTH(event_ids) DESC, read_to DESC, version DESC, writer, writer_id, seen.biz_key
