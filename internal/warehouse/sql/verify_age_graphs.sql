-- Makes the graphs old: copies of them in other sessions, many times, 200 days before. Every
-- key is another one. A question that is bounded in time reads none of them.
INSERT INTO {{table "session_graphs"}} (
  app_name, user_id, session_id, session_day, writer, writer_id, sync_id, version, read_to, part, parts, nodes)
SELECT
  app_name, user_id, CONCAT('old-', CAST(copy AS STRING)), DATE_SUB(session_day, INTERVAL 200 DAY),
  writer, writer_id, CONCAT(sync_id, '-', CAST(copy AS STRING)), version, TIMESTAMP_SUB(read_to, INTERVAL 200 DAY), part, parts,
  ARRAY(
    SELECT AS STRUCT node.* REPLACE (
      CONCAT(node.node_key, '-', CAST(copy AS STRING)) AS node_key,
      TIMESTAMP_SUB(node.start_time, INTERVAL 200 DAY) AS start_time,
      ARRAY(
        SELECT AS STRUCT cause.* REPLACE (
          CONCAT(cause.edge_key, '-', CAST(copy AS STRING)) AS edge_key, CONCAT(cause.from_key, '-', CAST(copy AS STRING)) AS from_key)
        FROM UNNEST(node.caused_by) AS cause) AS caused_by,
      ARRAY(
        SELECT AS STRUCT seen.* REPLACE (CONCAT(seen.biz_key, '-', CAST(copy AS STRING)) AS biz_key)
        FROM UNNEST(node.entities) AS seen) AS entities,
      ARRAY(
        SELECT AS STRUCT verdict.* REPLACE (CONCAT(verdict.check_id, '-', CAST(copy AS STRING)) AS check_id)
        FROM UNNEST(node.checks) AS verdict) AS checks)
    FROM UNNEST(nodes) AS node)
FROM {{table "session_graphs"}}
CROSS JOIN UNNEST(GENERATE_ARRAY(1, @copies)) AS copy
WHERE session_day > DATE_SUB(CURRENT_DATE(), INTERVAL 20 DAY)
