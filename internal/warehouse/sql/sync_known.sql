-- The steps that graphs of some sessions have, the day under which each stands, and the time of
-- BigQuery's clock. A step that a journal put under a day keeps that, because the journal does not
-- change it; else the day under which the dataset put it.
SELECT UNIX_MICROS(CURRENT_TIMESTAMP()) AS now, known.*
FROM (SELECT 1) LEFT JOIN (
  SELECT
    app_name AS app, user_id AS user, session_id AS session, node.node_key,
    COALESCE(MIN(IF(writer = 'journal', session_day, NULL)), MIN(session_day)) AS day,
    MIN(node.start_time) AS first
  FROM {{table "session_graphs"}}, UNNEST(nodes) AS node
  WHERE app_name IN UNNEST(@apps) AND user_id IN UNNEST(@users) AND session_id IN UNNEST(@sessions)
    AND session_day BETWEEN {{days}}
    AND writer IN ('journal', 'dataset')
  GROUP BY app, user, session, node_key
) AS known ON TRUE
