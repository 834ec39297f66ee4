-- Adds what a model found in one extraction, and then says which rows it has read: all
-- of it or nothing.
--
-- What a rule or a tool said of the same entity stays as it is, and nothing is deleted:
-- an answer that names less than the last one is no proof that there is less. The first
-- row of a step that names an entity stands for it, because earlier decisions rest on
-- that one.
BEGIN TRANSACTION;
{{if .Entities}}
MERGE {{table "extracted_biz_nodes"}} AS T
USING {{table .Entities}} AS S
ON T.biz_key = S.biz_key
  AND T.app_name = S.app_name AND T.user_id = S.user_id AND T.session_id = S.session_id
  AND T.session_id IN UNNEST(@sessions)
  AND T.evaluated_at BETWEEN @from AND @to
WHEN MATCHED AND T.source = 'model' AND T.evaluated_at BETWEEN @from AND @to THEN UPDATE SET
  confidence = GREATEST(COALESCE(T.confidence, 0), S.confidence),
  artifact_uri = COALESCE(T.artifact_uri, S.artifact_uri),
  event_id = IF(S.evaluated_at < T.evaluated_at, S.event_id, T.event_id),
  evaluated_at = LEAST(S.evaluated_at, T.evaluated_at),
  first_evaluated_at = LEAST(S.evaluated_at, T.evaluated_at, COALESCE(T.first_evaluated_at, T.evaluated_at)),
  updated_at = S.updated_at
WHEN NOT MATCHED BY TARGET THEN INSERT
  (biz_node_id, span_id, session_id, node_type, node_value, confidence, artifact_uri, biz_key, node_key, app_name, user_id,
   trace_id, event_id, canonical_key, norm, source, evaluated_at, recorder, created_at, updated_at,
   first_evaluated_at)
  VALUES
  (S.biz_node_id, S.span_id, S.session_id, S.node_type, S.node_value, S.confidence, S.artifact_uri, S.biz_key, S.node_key,
   S.app_name, S.user_id, S.trace_id, S.event_id, S.canonical_key, S.norm, S.source, S.evaluated_at, S.recorder,
   S.created_at, S.updated_at, S.first_evaluated_at);

MERGE {{table "context_cross_links"}} AS T
USING {{table .Links}} AS S
ON T.link_key = S.link_key
  AND T.app_name = S.app_name AND T.user_id = S.user_id AND T.session_id = S.session_id
  AND T.session_id IN UNNEST(@sessions)
  AND T.evaluated_at BETWEEN @from AND @to
WHEN MATCHED AND T.source = 'model' AND T.evaluated_at BETWEEN @from AND @to THEN UPDATE SET
  artifact_uri = COALESCE(T.artifact_uri, S.artifact_uri),
  evaluated_at = LEAST(S.evaluated_at, T.evaluated_at),
  first_evaluated_at = LEAST(S.evaluated_at, T.evaluated_at, COALESCE(T.first_evaluated_at, T.evaluated_at)),
  updated_at = S.updated_at
WHEN NOT MATCHED BY TARGET THEN INSERT
  (link_id, span_id, session_id, biz_node_id, node_value, link_type, artifact_uri, created_at, link_key, node_key, biz_key,
   app_name, user_id, source, evaluated_at, recorder, updated_at, first_evaluated_at)
  VALUES
  (S.link_id, S.span_id, S.session_id, S.biz_node_id, S.node_value, S.link_type, S.artifact_uri, S.created_at, S.link_key,
   S.node_key, S.biz_key, S.app_name, S.user_id, S.source, S.evaluated_at, S.recorder, S.updated_at, S.first_evaluated_at);
{{end}}
INSERT INTO {{table "extracted_rows"}}
  (app_name, user_id, session_id, event_id, extractor, status, error, entities, dropped, truncated, attempt, processed_at)
SELECT app_name, user_id, session_id, event_id, extractor, status, error, entities, dropped, truncated, attempt, processed_at
FROM {{table .Rows}} AS S
-- The same answers may be used twice: their rows count once.
WHERE NOT EXISTS (
  SELECT 1 FROM {{table "extracted_rows"}} AS T
  WHERE T.app_name = S.app_name AND T.user_id = S.user_id AND T.session_id = S.session_id AND T.event_id = S.event_id
    AND T.extractor = S.extractor AND T.attempt = S.attempt
    AND T.processed_at >= @since
);

COMMIT TRANSACTION;
