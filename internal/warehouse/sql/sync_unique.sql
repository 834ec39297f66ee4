-- Leaves one row for each key that has several in one session: two that bring a session
-- for the first time at one moment may each add it. All of it or nothing, and a second
-- time it does nothing.
--
-- Of several rows the exact one stays before what a model found, and then the one that
-- was written last. Rows that agree in every column cannot be told apart, so all of a key
-- are deleted and the one that was copied before is put back, with the columns that
-- others added to the table too.
BEGIN TRANSACTION;

CREATE TEMP TABLE kept_nodes AS
SELECT *, COUNT(*) OVER (PARTITION BY node_key) AS copies_of_key
FROM {{table "tech_nodes"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND start_time BETWEEN @from AND @to
QUALIFY copies_of_key > 1 AND ROW_NUMBER() OVER (PARTITION BY node_key ORDER BY updated_at DESC) = 1;

DELETE FROM {{table "tech_nodes"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND start_time BETWEEN @from AND @to
  AND node_key IN (SELECT node_key FROM kept_nodes);

INSERT INTO {{table "tech_nodes"}}
SELECT * EXCEPT (copies_of_key) FROM kept_nodes;

CREATE TEMP TABLE kept_edges AS
SELECT *, COUNT(*) OVER (PARTITION BY edge_key) AS copies_of_key
FROM {{table "caused_edges"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND occurred_at BETWEEN @from AND @to
QUALIFY copies_of_key > 1 AND ROW_NUMBER() OVER (PARTITION BY edge_key ORDER BY created_at DESC) = 1;

DELETE FROM {{table "caused_edges"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND occurred_at BETWEEN @from AND @to
  AND edge_key IN (SELECT edge_key FROM kept_edges);

INSERT INTO {{table "caused_edges"}}
SELECT * EXCEPT (copies_of_key) FROM kept_edges;

CREATE TEMP TABLE kept_entities AS
SELECT *, COUNT(*) OVER (PARTITION BY biz_key) AS copies_of_key
FROM {{table "extracted_biz_nodes"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND evaluated_at BETWEEN @from AND @to
QUALIFY copies_of_key > 1 AND ROW_NUMBER() OVER (PARTITION BY biz_key ORDER BY IF(source = 'model', 1, 0), updated_at DESC) = 1;

DELETE FROM {{table "extracted_biz_nodes"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND evaluated_at BETWEEN @from AND @to
  AND biz_key IN (SELECT biz_key FROM kept_entities);

INSERT INTO {{table "extracted_biz_nodes"}}
SELECT * EXCEPT (copies_of_key) FROM kept_entities;

CREATE TEMP TABLE kept_links AS
SELECT *, COUNT(*) OVER (PARTITION BY link_key) AS copies_of_key
FROM {{table "context_cross_links"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND evaluated_at BETWEEN @from AND @to
QUALIFY copies_of_key > 1 AND ROW_NUMBER() OVER (PARTITION BY link_key ORDER BY IF(COALESCE(source, recorder, '') = 'model', 1, 0), COALESCE(updated_at, created_at) DESC) = 1;

DELETE FROM {{table "context_cross_links"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND evaluated_at BETWEEN @from AND @to
  AND link_key IN (SELECT link_key FROM kept_links);

INSERT INTO {{table "context_cross_links"}}
SELECT * EXCEPT (copies_of_key) FROM kept_links;

CREATE TEMP TABLE kept_checks AS
SELECT *, COUNT(*) OVER (PARTITION BY check_id) AS copies_of_key
FROM {{table "world_change_checks"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND checked_at BETWEEN @from AND @to
QUALIFY copies_of_key > 1 AND ROW_NUMBER() OVER (PARTITION BY check_id ORDER BY created_at DESC) = 1;

DELETE FROM {{table "world_change_checks"}}
WHERE app_name = @app AND user_id = @user AND session_id = @session AND checked_at BETWEEN @from AND @to
  AND check_id IN (SELECT check_id FROM kept_checks);

INSERT INTO {{table "world_change_checks"}}
SELECT * EXCEPT (copies_of_key) FROM kept_checks;

COMMIT TRANSACTION;

-- How many rows were too many.
SELECT
  (SELECT COALESCE(SUM(copies_of_key - 1), 0) FROM kept_nodes) +
  (SELECT COALESCE(SUM(copies_of_key - 1), 0) FROM kept_edges) +
  (SELECT COALESCE(SUM(copies_of_key - 1), 0) FROM kept_entities) +
  (SELECT COALESCE(SUM(copies_of_key - 1), 0) FROM kept_links) +
  (SELECT COALESCE(SUM(copies_of_key - 1), 0) FROM kept_checks) AS removed;
