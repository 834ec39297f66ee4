-- The entities that the newest graphs have of some steps of a session, those of the writer that read
-- most of a step first.
SELECT node.node_key, TO_JSON_STRING(entity) AS entity
FROM (
  SELECT * FROM (
    SELECT *, COUNT(*) OVER (PARTITION BY session_day, app_name, user_id, session_id, writer, writer_id, sync_id) AS present
    FROM (
      SELECT * FROM {{table "session_graphs"}}
      WHERE app_name = @app AND user_id = @user AND session_id = @session
        AND session_day BETWEEN DATE(@from) AND DATE(@to)
        AND writer IN ('journal', 'dataset')
      QUALIFY ROW_NUMBER() OVER (PARTITION BY session_day, app_name, user_id, session_id, writer, writer_id, sync_id, part) = 1
    )
  )
  WHERE present = parts
  QUALIFY RANK() OVER (PARTITION BY session_day, app_name, user_id, session_id, writer, writer_id ORDER BY read_to DESC, version DESC, sync_id) = 1
) AS newest, UNNEST(nodes) AS node, UNNEST(node.entities) AS entity
WHERE node.node_key IN UNNEST(@failed)
ORDER BY ARRAY_LENGTH(node.event_ids) DESC, read_to DESC, version DESC, writer, writer_id, entity.biz_key
