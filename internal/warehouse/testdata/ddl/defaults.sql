CREATE SCHEMA IF NOT EXISTS `my-project.agents`
OPTIONS (location = 'US');

CREATE TABLE IF NOT EXISTS `my-project.agents.agent_events` (
  timestamp TIMESTAMP NOT NULL OPTIONS (description = "Time of the step, UTC. Orders the rows of a session and partitions the table."),
  event_id STRING OPTIONS (description = "32 hexadecimal digits, minted before the row is queued. A row that was delivered twice has it twice."),
  event_type STRING OPTIONS (description = "Kind of step, such as LLM_REQUEST, TOOL_COMPLETED or HITL_CONFIRMATION_REQUEST."),
  agent STRING OPTIONS (description = "Name of the agent that took the step."),
  session_id STRING OPTIONS (description = "Session of the conversation. Unique only within an application (attributes.adk.app_name) and a user."),
  invocation_id STRING OPTIONS (description = "Turn of the conversation. A turn that is resumed after an approval has the id of the turn that asked."),
  user_id STRING OPTIONS (description = "User of the session."),
  trace_id STRING OPTIONS (description = "Trace of the run, 32 hexadecimal digits: that of the caller where there is one."),
  span_id STRING OPTIONS (description = "Span of the step, 16 hexadecimal digits. Spans are those of the recorder and form a tree in each trace; those of OpenTelemetry stand in attributes.otel."),
  parent_span_id STRING OPTIONS (description = "Span that caused this one; NULL at the root of a trace."),
  content JSON OPTIONS (description = "What the step took or gave. Its members depend on event_type."),
  content_parts ARRAY<STRUCT<mime_type STRING OPTIONS (description = "Media type of the part; text/plain for text, application/json for calls."), uri STRING OPTIONS (description = "Where the part is: gs:// for what was offloaded, or as the caller gave it."), object_ref STRUCT<uri STRING OPTIONS (description = "Object in Cloud Storage."), version STRING OPTIONS (description = "Generation of the object."), authorizer STRING OPTIONS (description = "Connection by which BigQuery reads the object."), details JSON OPTIONS (description = "Metadata of the object: gcs_metadata.content_type.")> OPTIONS (description = "ObjectRef of an offloaded part, as BigQuery's object functions take it."), text STRING OPTIONS (description = "Text of the part, or its beginning or a description where the part is not text or was offloaded."), part_index INT64 OPTIONS (description = "Place of the part in its message, from 0."), part_attributes STRING OPTIONS (description = "JSON text of what else is known of the part, such as function_name."), storage_mode STRING OPTIONS (description = "INLINE, GCS_REFERENCE or EXTERNAL_URI.")>> OPTIONS (description = "Parts of a message: text, calls, and references to what is stored elsewhere."),
  attributes JSON OPTIONS (description = "Circumstances of the step: model, usage, session metadata, and what the framework knows of it (adk, otel)."),
  latency_ms JSON OPTIONS (description = "Duration in milliseconds: total_ms, and time_to_first_token_ms of a model that streams."),
  status STRING OPTIONS (description = "OK or ERROR, never NULL in rows of contextgraph."),
  error_message STRING OPTIONS (description = "What went wrong. May stand in a row with status OK where a model ended early."),
  is_truncated BOOL OPTIONS (description = "Whether something of content, content_parts or attributes was left out for its size, depth or form.")
)
PARTITION BY DATE(timestamp)
CLUSTER BY event_type, agent, user_id
OPTIONS (
  description = "What agents did: one row per step. Rows may be there twice; agent_events_unique shows each once.",
  labels = [('adk_schema_version', '2')]
);

CREATE TABLE IF NOT EXISTS `my-project.agents.session_graphs` (
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  session_id STRING NOT NULL,
  session_day DATE NOT NULL OPTIONS (description = "the day of the first row that the writer has of the session, UTC"),
  writer STRING NOT NULL OPTIONS (description = "journal, dataset or model"),
  writer_id STRING NOT NULL OPTIONS (description = "the id of the journal, or of the extraction by a model; else empty"),
  sync_id STRING NOT NULL OPTIONS (description = "what the parts of one graph have in common; of two with one version, the greater one is the later"),
  version INT64 NOT NULL OPTIONS (description = "greater for a graph of more rows of one writer and session"),
  read_to TIMESTAMP NOT NULL OPTIONS (description = "the time of the latest row that was read"),
  part INT64 NOT NULL OPTIONS (description = "from 0"),
  parts INT64 NOT NULL OPTIONS (description = "the number of parts: the version counts when all are there"),
  nodes ARRAY<STRUCT<node_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: application, user, session, trace and span, hashed"), trace_id STRING, span_id STRING, parent_span_id STRING OPTIONS (description = "the first one that is not empty"), kind STRING OPTIONS (description = "invocation, agent, llm, tool, hitl, check, node or other"), name STRING OPTIONS (description = "the agent, the model, the tool, or the kind"), agent STRING, invocation_id STRING, branch STRING OPTIONS (description = "the branch of the agent; empty for the main branch"), call_id STRING OPTIONS (description = "the id of the tool call"), approval BOOL OPTIONS (description = "whether a confirmation was asked here"), event_types ARRAY<STRING> OPTIONS (description = "the types of the rows, in the order of recording"), event_ids ARRAY<STRING> OPTIONS (description = "the ids of the rows, in the order of recording"), start_time TIMESTAMP OPTIONS (description = "the first row"), end_time TIMESTAMP OPTIONS (description = "the last row"), decided_at TIMESTAMP OPTIONS (description = "the last request for a confirmation, else the last row: nothing later counts for this decision"), status STRING OPTIONS (description = "OK or ERROR, of the last row"), error_message STRING, latency_ms FLOAT64 OPTIONS (description = "milliseconds"), position INT64 OPTIONS (description = "the place of the node in its session, from 0: nodes of one time have an order too"), caused_by ARRAY<STRUCT<edge_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: from_key, kind and the key of the step, hashed"), from_key STRING NOT NULL OPTIONS (description = "the key of the step that is the cause"), kind STRING NOT NULL OPTIONS (description = "contains, informs or resumes")>> OPTIONS (description = "the edges that end in the step"), entities ARRAY<STRUCT<biz_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: the key of the step, node_type and node_value, hashed"), node_type STRING OPTIONS (description = "Product, Budget, ..."), node_value STRING OPTIONS (description = "the name or value as it was shown"), confidence FLOAT64 OPTIONS (description = "0 to 1"), artifact_uri STRING OPTIONS (description = "a document that belongs to it"), event_id STRING OPTIONS (description = "the last row it was seen in"), canonical_key STRING OPTIONS (description = "the same for one entity wherever it is seen"), norm JSON OPTIONS (description = "the typed form of node_value"), attributes JSON OPTIONS (description = "the typed facts seen with it"), source STRING OPTIONS (description = "declared or rule, which show it; action, claim or model"), link_type STRING OPTIONS (description = "EVALUATED: the step showed the entity, or a model found it there; NAMED: the step only named it, as what a call acts on"), evaluated_at TIMESTAMP OPTIONS (description = "the time of the last row of the step that it was seen in"), first_evaluated_at TIMESTAMP OPTIONS (description = "the time of the first row of the step that it was seen in"), sightings ARRAY<STRUCT<event_id STRING OPTIONS (description = "the row it was seen in"), evaluated_at TIMESTAMP OPTIONS (description = "from when on the step knew this"), confidence FLOAT64 OPTIONS (description = "0 to 1"), artifact_uri STRING OPTIONS (description = "a document that belongs to it"), source STRING OPTIONS (description = "declared or rule, which show it; action, claim or model"), norm STRING OPTIONS (description = "JSON: the typed form of node_value"), attributes STRING OPTIONS (description = "JSON: the typed facts seen with it"), echoes STRING OPTIONS (description = "JSON: the attributes that only repeat arguments, or that only words say")>> OPTIONS (description = "the entity as the step knew it after each row that it was seen in before evaluated_at, in the order of the rows: for a decision that lies between; empty for nearly all"), echoes JSON OPTIONS (description = "the names of the attributes that only repeat the arguments of the call, or that only words say; NULL for none")>> OPTIONS (description = "the business entities that the step evaluated"), checks ARRAY<STRUCT<check_id STRING NOT NULL OPTIONS (description = "event_id of the row WORLD_CHANGE_CHECK"), checked_at TIMESTAMP OPTIONS (description = "when the check ended"), verdict STRING OPTIONS (description = "safe, drift or check_failed"), stage STRING OPTIONS (description = "answer, execution or check"), approval_id STRING, confirmation_id STRING, call_id STRING OPTIONS (description = "the id of the tool call"), tool STRING, entities_checked INT64, stale_entities INT64, failed_entities INT64, alerts ARRAY<STRUCT<entity_type STRING, value STRING OPTIONS (description = "the entity"), attribute STRING, drift_type STRING, before STRING, after STRING, severity FLOAT64 OPTIONS (description = "0 to 1")>> OPTIONS (description = "what changed"), detail JSON OPTIONS (description = "the whole report")>> OPTIONS (description = "the world-change checks whose rows belong to the step")>> OPTIONS (description = "the steps, each with all that hangs on it")
)
PARTITION BY session_day
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "The graphs of sessions: one row per part of a version that a writer read of a session. Nothing is changed here; the views graph_steps and others show what is newest."
);

CREATE TABLE IF NOT EXISTS `my-project.agents.extracted_rows` (
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  session_id STRING NOT NULL,
  event_id STRING NOT NULL OPTIONS (description = "the row that was read"),
  extractor STRING NOT NULL OPTIONS (description = "a digest of model, prompt and entity types"),
  status STRING NOT NULL OPTIONS (description = "OK, EMPTY, FAILED or UNPARSEABLE; rows with the last two are read again"),
  error STRING OPTIONS (description = "why the call of the model failed, or what it answered in place of a list"),
  entities INT64 OPTIONS (description = "the number of entities found"),
  dropped INT64 OPTIONS (description = "the number of answers that are no entities of the types asked for"),
  truncated BOOL OPTIONS (description = "whether the model read a part of the row only"),
  attempt INT64 OPTIONS (description = "how often the row was sent, from 1"),
  processed_at TIMESTAMP NOT NULL
)
PARTITION BY DATE(processed_at)
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "What came of the rows of events that a model was asked about: one row for each time it was asked."
);

CREATE OR REPLACE VIEW `my-project.agents.agent_events_unique`
OPTIONS (
  description = "The rows of agent_events, each once.",
  labels = [('contextgraph_digest', 'd56d4cbe1c3837b2913fbdd3b3db441c')]
)
AS
-- Each event once: rows are delivered at least once, and event_id is minted before the
-- first delivery. Rows without an event_id, of writers that have none, are all shown.
-- Copies agree in every column, so which one is shown does not matter, and the other
-- columns of the window change nothing but this: a condition on a column that the window
-- is partitioned by can be applied before the window, so that a query that names a time,
-- an event type, an agent, a user or a session reads those partitions and blocks alone.
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  content,
  content_parts,
  attributes,
  latency_ms,
  status,
  error_message,
  is_truncated
FROM `my-project.agents.agent_events`
WHERE TRUE
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_user_message_received`
OPTIONS (
  description = "The rows USER_MESSAGE_RECEIVED of agent_events, each once.",
  labels = [('contextgraph_digest', '8ee66a9bb2c864cc47d6d3b34cfd6891')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.text_summary') AS text_summary,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'USER_MESSAGE_RECEIVED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_invocation_starting`
OPTIONS (
  description = "The rows INVOCATION_STARTING of agent_events, each once.",
  labels = [('contextgraph_digest', 'bff1e5710df07baee49754cdefe00cc6')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'INVOCATION_STARTING'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_invocation_completed`
OPTIONS (
  description = "The rows INVOCATION_COMPLETED of agent_events, each once.",
  labels = [('contextgraph_digest', '6c8199410be0d2a9d7fb5553055049fc')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.unfinished') AS BOOL) AS unfinished,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'INVOCATION_COMPLETED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_invocation_error`
OPTIONS (
  description = "The rows INVOCATION_ERROR of agent_events, each once.",
  labels = [('contextgraph_digest', 'd94ec8a9770b2a1010c1fd29eb72c2f4')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.error_traceback') AS error_traceback,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'INVOCATION_ERROR'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_agent_starting`
OPTIONS (
  description = "The rows AGENT_STARTING of agent_events, each once.",
  labels = [('contextgraph_digest', '2d17d71eaf8dabfed299147fedf6cd3c')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$') AS agent_instruction,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'AGENT_STARTING'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_agent_completed`
OPTIONS (
  description = "The rows AGENT_COMPLETED of agent_events, each once.",
  labels = [('contextgraph_digest', '228e1299ca5eff11965dce08e55caf8b')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.unfinished') AS BOOL) AS unfinished,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'AGENT_COMPLETED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_agent_error`
OPTIONS (
  description = "The rows AGENT_ERROR of agent_events, each once.",
  labels = [('contextgraph_digest', '79b25377b23005aa34be06fb1f74baf0')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  JSON_VALUE(content, '$.error_traceback') AS error_traceback,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'AGENT_ERROR'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_agent_response`
OPTIONS (
  description = "The rows AGENT_RESPONSE of agent_events, each once.",
  labels = [('contextgraph_digest', 'e74daa2958731b8ee350d61d9f018315')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.response') AS response_text,
  JSON_VALUE(attributes, '$.source_event_id') AS source_event_id,
  JSON_VALUE(attributes, '$.source_event_author') AS source_event_author,
  JSON_VALUE(attributes, '$.source_event_branch') AS source_event_branch,
  JSON_VALUE(attributes, '$.response_text') AS final_answer,
  JSON_QUERY(content, '$.response') AS response,
  JSON_VALUE(attributes, '$.source_tool') AS source_tool,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'AGENT_RESPONSE'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_agent_transfer`
OPTIONS (
  description = "The rows AGENT_TRANSFER of agent_events, each once.",
  labels = [('contextgraph_digest', 'f290e5eab2b131e45b7f14e8ec2b99e6')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.from_agent') AS from_agent,
  JSON_VALUE(content, '$.to_agent') AS to_agent,
  JSON_VALUE(attributes, '$.adk.source_event_id') AS source_event_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'AGENT_TRANSFER'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_agent_state_checkpoint`
OPTIONS (
  description = "The rows AGENT_STATE_CHECKPOINT of agent_events, each once.",
  labels = [('contextgraph_digest', '13c22b98d2eeebd7adf917c59d183be8')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_QUERY(content, '$.agent_state') AS agent_state,
  JSON_TYPE(JSON_QUERY(content, '$.agent_state')) AS agent_state_type,
  SAFE_CAST(JSON_VALUE(content, '$.end_of_agent') AS BOOL) AS end_of_agent,
  JSON_VALUE(attributes, '$.adk.source_event_id') AS source_event_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'AGENT_STATE_CHECKPOINT'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_event_compaction`
OPTIONS (
  description = "The rows EVENT_COMPACTION of agent_events, each once.",
  labels = [('contextgraph_digest', '788a20007d61935fb3fe7f5c0fe30c42')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  SAFE_CAST(JSON_VALUE(content, '$.start_timestamp') AS FLOAT64) AS start_seconds,
  SAFE_CAST(JSON_VALUE(content, '$.end_timestamp') AS FLOAT64) AS end_seconds,
  SAFE.TIMESTAMP_MICROS(SAFE_CAST(ROUND(SAFE_MULTIPLY(SAFE_CAST(JSON_VALUE(content, '$.start_timestamp') AS FLOAT64), 1000000)) AS INT64)) AS window_start,
  SAFE.TIMESTAMP_MICROS(SAFE_CAST(ROUND(SAFE_MULTIPLY(SAFE_CAST(JSON_VALUE(content, '$.end_timestamp') AS FLOAT64), 1000000)) AS INT64)) AS window_end,
  JSON_QUERY(content, '$.compacted_content') AS compacted_content,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'EVENT_COMPACTION'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_llm_request`
OPTIONS (
  description = "The rows LLM_REQUEST of agent_events, each once.",
  labels = [('contextgraph_digest', 'bfc4d65e4ed40a7a6d449be6b71ecfc4')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.model') AS model,
  content AS request_content,
  JSON_QUERY(attributes, '$.llm_config') AS llm_config,
  JSON_QUERY(attributes, '$.tools') AS tools,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'LLM_REQUEST'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_llm_response`
OPTIONS (
  description = "The rows LLM_RESPONSE of agent_events, each once.",
  labels = [('contextgraph_digest', '9b5584491882e9c80ec88f50d4b1c299')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_QUERY(content, '$.response') AS response,
  COALESCE(SAFE_CAST(JSON_VALUE(content, '$.usage.prompt') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(content, '$.usage.prompt') AS FLOAT64)) AS INT64)) AS usage_prompt_tokens,
  COALESCE(SAFE_CAST(JSON_VALUE(content, '$.usage.completion') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(content, '$.usage.completion') AS FLOAT64)) AS INT64)) AS usage_completion_tokens,
  COALESCE(SAFE_CAST(JSON_VALUE(content, '$.usage.total') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(content, '$.usage.total') AS FLOAT64)) AS INT64)) AS usage_total_tokens,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.cached_content_token_count') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.cached_content_token_count') AS FLOAT64)) AS INT64)) AS usage_cached_tokens,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.thoughts_token_count') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.thoughts_token_count') AS FLOAT64)) AS INT64)) AS usage_thinking_tokens,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.tool_use_prompt_token_count') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.tool_use_prompt_token_count') AS FLOAT64)) AS INT64)) AS usage_tool_use_tokens,
  SAFE_DIVIDE(SAFE_CAST(JSON_VALUE(attributes, '$.usage_metadata.cached_content_token_count') AS FLOAT64), SAFE_CAST(JSON_VALUE(content, '$.usage.prompt') AS FLOAT64)) AS context_cache_hit_rate,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.time_to_first_token_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.time_to_first_token_ms') AS FLOAT64)) AS INT64)) AS ttft_ms,
  JSON_VALUE(attributes, '$.model_version') AS model_version,
  JSON_QUERY(attributes, '$.usage_metadata') AS usage_metadata,
  JSON_QUERY(attributes, '$.cache_metadata') AS cache_metadata,
  JSON_VALUE(attributes, '$.cache_type') AS cache_type,
  JSON_VALUE(attributes, '$.finish_reason') AS finish_reason,
  JSON_QUERY(attributes, '$.function_calls') AS function_calls,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.short_circuited') AS BOOL) AS short_circuited,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.partial') AS BOOL) AS partial,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'LLM_RESPONSE'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_llm_error`
OPTIONS (
  description = "The rows LLM_ERROR of agent_events, each once.",
  labels = [('contextgraph_digest', '9e29b5d5c9ce8fadffe82f94ea259584')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'LLM_ERROR'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_tool_starting`
OPTIONS (
  description = "The rows TOOL_STARTING of agent_events, each once.",
  labels = [('contextgraph_digest', 'a72aa9148baa6b61d89fd6b5e749c1a6')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.args') AS tool_args,
  JSON_VALUE(content, '$.tool_origin') AS tool_origin,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'TOOL_STARTING'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_tool_completed`
OPTIONS (
  description = "The rows TOOL_COMPLETED of agent_events, each once.",
  labels = [('contextgraph_digest', 'acad66c672c4fddbb3fbc0ab8e0a78a7')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.result') AS tool_result,
  JSON_VALUE(content, '$.tool_origin') AS tool_origin,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  JSON_VALUE(attributes, '$.adk.function_call_id') AS function_call_id,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS FLOAT64)) AS INT64)) AS waited_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'TOOL_COMPLETED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_tool_error`
OPTIONS (
  description = "The rows TOOL_ERROR of agent_events, each once.",
  labels = [('contextgraph_digest', '151884f2e099dc2f37bc5b14dd81bdc6')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.args') AS tool_args,
  JSON_VALUE(content, '$.tool_origin') AS tool_origin,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.error_type') AS error_type,
  JSON_QUERY(attributes, '$.entities') AS entities,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'TOOL_ERROR'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_tool_paused`
OPTIONS (
  description = "The rows TOOL_PAUSED of agent_events, each once.",
  labels = [('contextgraph_digest', '16b2313798a089780e91d3ea76ab6fa9')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.args') AS tool_args,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  JSON_VALUE(attributes, '$.adk.function_call_id') AS function_call_id,
  JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id,
  JSON_VALUE(attributes, '$.adk.interrupt_id') AS interrupt_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'TOOL_PAUSED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_state_delta`
OPTIONS (
  description = "The rows STATE_DELTA of agent_events, each once.",
  labels = [('contextgraph_digest', 'e7b79b3edbe7fb67e7efb5d46f731770')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_QUERY(attributes, '$.state_delta') AS state_delta,
  JSON_VALUE(attributes, '$.adk.source_event_id') AS source_event_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'STATE_DELTA'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_node_output`
OPTIONS (
  description = "The rows NODE_OUTPUT of agent_events, each once.",
  labels = [('contextgraph_digest', '6950d6e98ed7a1d667a2e6ef35819485')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.node.path') AS node_path,
  JSON_VALUE(attributes, '$.adk.node.run_id') AS node_run_id,
  JSON_VALUE(attributes, '$.adk.node.parent_run_id') AS node_parent_run_id,
  content AS output,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'NODE_OUTPUT'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_node_error`
OPTIONS (
  description = "The rows NODE_ERROR of agent_events, each once.",
  labels = [('contextgraph_digest', '6adc5fe42d7db6faa79ffb34bfc4b81a')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.node.path') AS node_path,
  JSON_VALUE(attributes, '$.adk.node.run_id') AS node_run_id,
  JSON_VALUE(attributes, '$.adk.node.parent_run_id') AS node_parent_run_id,
  JSON_VALUE(content, '$.error_code') AS error_code,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'NODE_ERROR'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_a2a_interaction`
OPTIONS (
  description = "The rows A2A_INTERACTION of agent_events, each once.",
  labels = [('contextgraph_digest', '4d4719067750b64dc0674c3ee3f1a567')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  content AS response_content,
  JSON_VALUE(attributes, '$.a2a_metadata."a2a:task_id"') AS a2a_task_id,
  JSON_VALUE(attributes, '$.a2a_metadata."a2a:context_id"') AS a2a_context_id,
  JSON_QUERY(attributes, '$.a2a_metadata."a2a:request"') AS a2a_request,
  JSON_QUERY(attributes, '$.a2a_metadata."a2a:response"') AS a2a_response,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'A2A_INTERACTION'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_hitl_confirmation_request`
OPTIONS (
  description = "The rows HITL_CONFIRMATION_REQUEST of agent_events, each once.",
  labels = [('contextgraph_digest', '1aedaab4e37b593d9dfd61a7a3ca1779')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.args') AS tool_args,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id,
  JSON_VALUE(attributes, '$.adk.approval_id') AS approval_id,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.enforced') AS BOOL) AS enforced,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'HITL_CONFIRMATION_REQUEST'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_hitl_credential_request`
OPTIONS (
  description = "The rows HITL_CREDENTIAL_REQUEST of agent_events, each once.",
  labels = [('contextgraph_digest', 'ef647338e9f9d45bc300f7b4d28a77b8')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.args') AS tool_args,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.interrupt_id') AS interrupt_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'HITL_CREDENTIAL_REQUEST'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_hitl_input_request`
OPTIONS (
  description = "The rows HITL_INPUT_REQUEST of agent_events, each once.",
  labels = [('contextgraph_digest', 'e0f723d172671f34d3e25d6b0e2f24ab')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.args') AS tool_args,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.interrupt_id') AS interrupt_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'HITL_INPUT_REQUEST'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_hitl_confirmation_request_completed`
OPTIONS (
  description = "The rows HITL_CONFIRMATION_REQUEST_COMPLETED of agent_events, each once.",
  labels = [('contextgraph_digest', '2b20ca84ed97a2d3b532c2972343b7f4')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.result') AS tool_result,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id,
  JSON_VALUE(attributes, '$.adk.approval_id') AS approval_id,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.enforced') AS BOOL) AS enforced,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.confirmed') AS BOOL) AS confirmed,
  SAFE_CAST(JSON_VALUE(attributes, '$.adk.accepted') AS BOOL) AS accepted,
  JSON_VALUE(attributes, '$.adk.reason') AS reason,
  JSON_VALUE(attributes, '$.adk.approver') AS approver,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS FLOAT64)) AS INT64)) AS waited_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'HITL_CONFIRMATION_REQUEST_COMPLETED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_hitl_credential_request_completed`
OPTIONS (
  description = "The rows HITL_CREDENTIAL_REQUEST_COMPLETED of agent_events, each once.",
  labels = [('contextgraph_digest', '2ecd76b934c3f62b6329e818063fe93d')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.result') AS tool_result,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.interrupt_id') AS interrupt_id,
  JSON_VALUE(attributes, '$.adk.approver') AS approver,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS FLOAT64)) AS INT64)) AS waited_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'HITL_CREDENTIAL_REQUEST_COMPLETED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_hitl_input_request_completed`
OPTIONS (
  description = "The rows HITL_INPUT_REQUEST_COMPLETED of agent_events, each once.",
  labels = [('contextgraph_digest', '01b93e697df16395ccb0c30984e6805d')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  JSON_QUERY(content, '$.result') AS tool_result,
  JSON_VALUE(attributes, '$.adk.pause_kind') AS pause_kind,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.interrupt_id') AS interrupt_id,
  JSON_VALUE(attributes, '$.adk.approver') AS approver,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.waited_ms') AS FLOAT64)) AS INT64)) AS waited_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'HITL_INPUT_REQUEST_COMPLETED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_world_change_check`
OPTIONS (
  description = "The rows WORLD_CHANGE_CHECK of agent_events, each once.",
  labels = [('contextgraph_digest', '7eb46513593eae22556aa1edf648396c')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.verdict') AS verdict,
  JSON_VALUE(attributes, '$.adk.stage') AS stage,
  JSON_VALUE(attributes, '$.adk.approval_id') AS approval_id,
  JSON_VALUE(attributes, '$.adk.confirmation_id') AS confirmation_id,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  SAFE_CAST(JSON_VALUE(content, '$.safe_to_approve') AS BOOL) AS safe_to_approve,
  SAFE_CAST(JSON_VALUE(content, '$.check_failed') AS BOOL) AS check_failed,
  COALESCE(SAFE_CAST(JSON_VALUE(content, '$.total_entities') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(content, '$.total_entities') AS FLOAT64)) AS INT64)) AS total_entities,
  COALESCE(SAFE_CAST(JSON_VALUE(content, '$.stale_entities') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(content, '$.stale_entities') AS FLOAT64)) AS INT64)) AS stale_entities,
  JSON_VALUE(content, '$.fingerprint') AS fingerprint,
  JSON_VALUE(content, '$.policy_version') AS policy_version,
  JSON_VALUE(content, '$.started_at') AS started_at,
  JSON_VALUE(content, '$.checked_at') AS checked_at,
  JSON_QUERY(content, '$.entities') AS entities,
  JSON_QUERY(content, '$.alerts') AS alerts,
  JSON_QUERY(content, '$.failures') AS failures,
  COALESCE(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(latency_ms, '$.total_ms') AS FLOAT64)) AS INT64)) AS total_ms,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'WORLD_CHANGE_CHECK'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_artifact_delta`
OPTIONS (
  description = "The rows ARTIFACT_DELTA of agent_events, each once.",
  labels = [('contextgraph_digest', 'b0888b2ac602df6667c3af5aa806c12b')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.artifact') AS artifact,
  COALESCE(SAFE_CAST(JSON_VALUE(content, '$.version') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(content, '$.version') AS FLOAT64)) AS INT64)) AS version,
  JSON_VALUE(content, '$.uri') AS uri,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.source_event_id') AS source_event_id,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'ARTIFACT_DELTA'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_tool_result_rewritten`
OPTIONS (
  description = "The rows TOOL_RESULT_REWRITTEN of agent_events, each once.",
  labels = [('contextgraph_digest', '18c64c20ffed2f3bff6d266fd6b3dc90')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.of') AS ended_event_id,
  JSON_VALUE(attributes, '$.adk.result') AS result_digest,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'TOOL_RESULT_REWRITTEN'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_turn_closed`
OPTIONS (
  description = "The rows TURN_CLOSED of agent_events, each once.",
  labels = [('contextgraph_digest', '5f86c473e960f5667255a9f0a247b87f')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_QUERY(attributes, '$.adk.closed') AS closed_runs,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'TURN_CLOSED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_entities_declared`
OPTIONS (
  description = "The rows ENTITIES_DECLARED of agent_events, each once.",
  labels = [('contextgraph_digest', 'ee84fbd428c89f509895e0292623951b')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(content, '$.tool') AS tool_name,
  COALESCE(JSON_VALUE(attributes, '$.adk.call_id'), JSON_VALUE(attributes, '$.adk.function_call_id')) AS call_id,
  JSON_VALUE(attributes, '$.adk.of') AS started_event_id,
  JSON_QUERY(attributes, '$.entities') AS entities,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'ENTITIES_DECLARED'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.v_entities_found`
OPTIONS (
  description = "The rows ENTITIES_FOUND of agent_events, each once.",
  labels = [('contextgraph_digest', '30e95335d17307deb06f1ae61497c641')]
)
AS
SELECT
  timestamp,
  event_id,
  event_type,
  agent,
  session_id,
  invocation_id,
  user_id,
  trace_id,
  span_id,
  parent_span_id,
  status,
  error_message,
  is_truncated,
  JSON_VALUE(attributes, '$.adk.of') AS found_in_event_id,
  JSON_QUERY(attributes, '$.entities') AS entities,
  JSON_VALUE(attributes, '$.adk.app_name') AS app_name,
  JSON_VALUE(attributes, '$.adk.run_id') AS run_id,
  COALESCE(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS INT64), SAFE_CAST(ROUND(SAFE_CAST(JSON_VALUE(attributes, '$.adk.run_seq') AS FLOAT64)) AS INT64)) AS run_seq
FROM `my-project.agents.agent_events`
WHERE event_type = 'ENTITIES_FOUND'
QUALIFY event_id IS NULL
  OR ROW_NUMBER() OVER (PARTITION BY event_id, timestamp, event_type, agent, user_id, session_id) = 1;

CREATE OR REPLACE VIEW `my-project.agents.graph_steps`
OPTIONS (
  description = "The steps of all sessions with all that hangs on them: one row per span, of the writer that read most of it.",
  labels = [('contextgraph_digest', 'd6602dd6a2d330ddf9ee6f0cf76e2077')]
)
AS
SELECT
    app_name, user_id, session_id, session_day, writer, writer_id, version, read_to,
    IF(writer = 'journal', writer_id, writer) AS recorder,
    node_key, trace_id, span_id, parent_span_id, kind, name, agent, invocation_id, branch, call_id, approval,
    event_types, event_ids, start_time, end_time, decided_at, status, error_message, latency_ms, position,
    caused_by, entities, checks
  FROM (
    SELECT *
    FROM (
      SELECT
        graphs.app_name, graphs.user_id, graphs.session_id, graphs.session_day, graphs.writer, graphs.writer_id,
        graphs.sync_id, graphs.version, graphs.read_to,
        node.node_key, node.trace_id, node.span_id, node.parent_span_id, node.kind, node.name, node.agent,
        node.invocation_id, node.branch, node.call_id, node.approval, node.event_types, node.event_ids,
        node.start_time, node.end_time, node.decided_at, node.status, node.error_message, node.latency_ms,
        node.position, node.caused_by, node.entities, node.checks
      FROM `my-project.agents.session_graphs` AS graphs
      CROSS JOIN UNNEST(graphs.nodes) AS node
      WHERE TRUE
      QUALIFY COUNT(DISTINCT graphs.part) OVER (
        PARTITION BY graphs.session_day, graphs.app_name, graphs.user_id, graphs.session_id, graphs.writer, graphs.writer_id, graphs.sync_id
      ) = graphs.parts
    )
    WHERE TRUE
    QUALIFY RANK() OVER (
      PARTITION BY session_day, app_name, user_id, session_id, writer, writer_id
      ORDER BY read_to DESC, version DESC, sync_id DESC
    ) = 1
  )
  WHERE TRUE
  QUALIFY ROW_NUMBER() OVER (
    PARTITION BY session_day, app_name, user_id, session_id, node_key
    ORDER BY ARRAY_LENGTH(event_ids) DESC, read_to DESC, version DESC, writer, writer_id
  ) = 1;

CREATE OR REPLACE VIEW `my-project.agents.graph_tech_nodes`
OPTIONS (
  description = "The steps of all sessions: one row per span. Nodes TechNode of the graph.",
  labels = [('contextgraph_digest', '052866a0e5c3dc898637cff9603514cb')]
)
AS
SELECT
    node_key, app_name, user_id, session_id, session_day, trace_id, span_id, parent_span_id, kind, name, agent,
    invocation_id, branch, call_id, approval, event_types, event_ids, start_time, end_time, decided_at, status,
    error_message, latency_ms, position, recorder, read_to AS created_at, read_to AS updated_at,
    event_types[SAFE_OFFSET(0)] AS event_type, start_time AS timestamp
  FROM `my-project.agents.graph_steps`;

CREATE OR REPLACE VIEW `my-project.agents.graph_caused_edges`
OPTIONS (
  description = "What caused what: one row per pair of steps and kind. Edges Caused of the graph.",
  labels = [('contextgraph_digest', '0a572d0038c2914df49284aaee58d395')]
)
AS
SELECT
    cause.edge_key, cause.from_key, steps.node_key AS to_key, cause.kind, steps.app_name, steps.user_id,
    steps.session_id, steps.session_day, steps.start_time AS occurred_at, steps.recorder, steps.read_to AS created_at
  FROM `my-project.agents.graph_steps` AS steps
  CROSS JOIN UNNEST(steps.caused_by) AS cause;

CREATE OR REPLACE VIEW `my-project.agents.graph_biz_nodes`
OPTIONS (
  description = "The business entities that steps evaluated: one row per step, type and value. Nodes BizNode of the graph.",
  labels = [('contextgraph_digest', 'e934c44ce2ca3c6c08e45b7d9eb1a9e6')]
)
AS
SELECT
    CONCAT(COALESCE(steps.span_id, ''), ':', seen.node_type, ':', seen.node_value) AS biz_node_id, steps.span_id, steps.session_id,
    seen.node_type, seen.node_value, seen.confidence, seen.artifact_uri, seen.biz_key, steps.node_key, steps.app_name,
    steps.user_id, steps.session_day, steps.trace_id, seen.event_id, seen.canonical_key, seen.norm, seen.attributes,
    seen.source, seen.link_type, seen.evaluated_at, steps.recorder, steps.read_to AS created_at,
    steps.read_to AS updated_at, seen.first_evaluated_at, seen.sightings, seen.echoes
  FROM `my-project.agents.graph_steps` AS steps
  CROSS JOIN UNNEST(steps.entities) AS seen;

CREATE OR REPLACE VIEW `my-project.agents.graph_cross_links`
OPTIONS (
  description = "Which step evaluated which entity. Edges Evaluated of the graph.",
  labels = [('contextgraph_digest', '57d7b265c4edef49857f73360c7c8b36')]
)
AS
SELECT
  biz_node_id AS link_id, span_id, session_id, biz_node_id, node_value, link_type, artifact_uri, created_at,
  biz_key AS link_key, node_key, biz_key, app_name, user_id, session_day, source, evaluated_at, recorder, updated_at,
  first_evaluated_at
FROM `my-project.agents.graph_biz_nodes`;

CREATE OR REPLACE VIEW `my-project.agents.graph_world_change_checks`
OPTIONS (
  description = "The verdicts of world-change checks: one row per check.",
  labels = [('contextgraph_digest', 'd9645ece76d92cada666a439825deba1')]
)
AS
SELECT
    check.check_id, steps.app_name, steps.user_id, steps.session_id, steps.session_day, check.checked_at, check.verdict,
    check.stage, check.approval_id, check.confirmation_id, check.call_id, check.tool, check.entities_checked,
    check.stale_entities, check.failed_entities, check.alerts, check.detail, steps.recorder,
    steps.read_to AS created_at, steps.node_key
  FROM `my-project.agents.graph_steps` AS steps
  CROSS JOIN UNNEST(steps.checks) AS check;

CREATE PROPERTY GRAPH IF NOT EXISTS `my-project.agents.contextgraph`
NODE TABLES (
  `my-project.agents.graph_tech_nodes` AS TechNode
    KEY (node_key)
    LABEL TechNode
    PROPERTIES (
      node_key, app_name, user_id, session_id, session_day, trace_id, span_id, parent_span_id, invocation_id, call_id,
      event_type, timestamp, kind, name, agent, approval, start_time, end_time, decided_at, status, error_message, latency_ms, position
    ),
  `my-project.agents.graph_biz_nodes` AS BizNode
    KEY (biz_key)
    LABEL BizNode
    PROPERTIES (
      biz_key, biz_node_id, node_key, app_name, user_id, session_id, session_day, span_id, event_id,
      node_type, node_value, canonical_key, confidence, artifact_uri, source, evaluated_at, first_evaluated_at
    ),
  `my-project.agents.graph_world_change_checks` AS WorldChangeCheck
    KEY (check_id)
    LABEL WorldChangeCheck
    PROPERTIES (
      check_id, app_name, user_id, session_id, session_day, checked_at, verdict, stage, approval_id, confirmation_id,
      call_id, tool, entities_checked, stale_entities, failed_entities, alerts
    )
)
EDGE TABLES (
  `my-project.agents.graph_caused_edges` AS Caused
    KEY (edge_key)
    SOURCE KEY (from_key) REFERENCES TechNode (node_key)
    DESTINATION KEY (to_key) REFERENCES TechNode (node_key)
    LABEL Caused
    PROPERTIES (edge_key, from_key, to_key, app_name, user_id, session_id, session_day, kind, occurred_at),
  `my-project.agents.graph_cross_links` AS Evaluated
    KEY (link_key)
    SOURCE KEY (node_key) REFERENCES TechNode (node_key)
    DESTINATION KEY (biz_key) REFERENCES BizNode (biz_key)
    LABEL Evaluated
    PROPERTIES (
      link_key, node_key, biz_key, app_name, user_id, session_id, session_day, artifact_uri, link_type, created_at,
      evaluated_at, first_evaluated_at
    ),
  `my-project.agents.graph_world_change_checks` AS Checked
    KEY (check_id)
    SOURCE KEY (check_id) REFERENCES WorldChangeCheck (check_id)
    DESTINATION KEY (node_key) REFERENCES TechNode (node_key)
    LABEL Checked
    PROPERTIES (check_id, node_key, app_name, user_id, session_id, session_day, checked_at)
);

ALTER TABLE `my-project.agents.agent_events`
SET OPTIONS (labels = [('adk_schema_version', '2'), ('contextgraph_definitions', '1639f099336cc6fe9db7013c141ec90a'), ('contextgraph_graph', '1875c9bdfe8ec341579795185da8655f'), ('contextgraph_schema_version', '1')]);

