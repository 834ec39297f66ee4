CREATE TABLE IF NOT EXISTS `my-project.agents.tech_nodes` (
  node_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: application, user, session, trace and span, hashed"),
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  session_id STRING NOT NULL,
  trace_id STRING,
  span_id STRING,
  parent_span_id STRING OPTIONS (description = "the first one that is not empty"),
  kind STRING OPTIONS (description = "invocation, agent, llm, tool, hitl, check, node or other"),
  name STRING OPTIONS (description = "the agent, the model, the tool, or the kind"),
  agent STRING,
  invocation_id STRING,
  branch STRING OPTIONS (description = "the branch of the agent; empty for the main branch"),
  call_id STRING OPTIONS (description = "the id of the tool call"),
  approval BOOL OPTIONS (description = "whether a confirmation was asked here"),
  event_types ARRAY<STRING> OPTIONS (description = "the types of the rows, in the order of recording"),
  event_ids ARRAY<STRING> OPTIONS (description = "the ids of the rows, in the order of recording"),
  start_time TIMESTAMP NOT NULL OPTIONS (description = "the first row"),
  end_time TIMESTAMP OPTIONS (description = "the last row"),
  decided_at TIMESTAMP OPTIONS (description = "the last request for a confirmation, else the last row: nothing later counts for this decision"),
  status STRING OPTIONS (description = "OK or ERROR, of the last row"),
  error_message STRING,
  latency_ms FLOAT64 OPTIONS (description = "milliseconds"),
  position INT64 OPTIONS (description = "the place of the node in its session, from 0: nodes of one time have an order too"),
  recorder STRING OPTIONS (description = "the id of the journal that wrote the row, or dataset"),
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  requests ARRAY<STRUCT<kind STRING OPTIONS (description = "CONFIRMATION, INPUT or CREDENTIAL"), pair STRING OPTIONS (description = "what the request shares with its answers: the id of the confirmation, else of the interrupt, else of the call, else the event_id"), agent STRING OPTIONS (description = "the agent that asked; without asked_at, that of the answer"), tool STRING OPTIONS (description = "the tool that it was asked for; without asked_at, as the answer says"), asked_at TIMESTAMP OPTIONS (description = "the row of the request"), answered_at TIMESTAMP OPTIONS (description = "the row of the first answer; NULL while it is pending"), confirmed BOOL OPTIONS (description = "the answer to a confirmation"), accepted BOOL OPTIONS (description = "whether an approval of contextgraph accepted the answer"), waited_ms FLOAT64 OPTIONS (description = "milliseconds: what the answer says, else answered_at - asked_at")>> OPTIONS (description = "the requests to a human that were made in the step, each with its first answer, by time; an answer whose request is not among the rows of the session stands in the step it came in, without asked_at")
)
PARTITION BY DATE(start_time)
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "The steps of all sessions: one row per span. Nodes TechNode of the graph."
);
CREATE TABLE IF NOT EXISTS `my-project.agents.caused_edges` (
  edge_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: from_key, kind and to_key, hashed"),
  from_key STRING NOT NULL OPTIONS (description = "tech_nodes.node_key of the cause"),
  to_key STRING NOT NULL OPTIONS (description = "tech_nodes.node_key of the effect"),
  kind STRING NOT NULL OPTIONS (description = "contains, informs or resumes"),
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  session_id STRING NOT NULL,
  occurred_at TIMESTAMP NOT NULL OPTIONS (description = "when the effect began"),
  recorder STRING OPTIONS (description = "the id of the journal that wrote the row, or dataset"),
  created_at TIMESTAMP NOT NULL
)
PARTITION BY DATE(occurred_at)
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "What caused what: one row per pair of steps and kind. Edges Caused of the graph."
);
CREATE TABLE IF NOT EXISTS `my-project.agents.extracted_biz_nodes` (
  biz_node_id STRING OPTIONS (description = "span_id:node_type:node_value"),
  span_id STRING,
  session_id STRING NOT NULL,
  node_type STRING OPTIONS (description = "Product, Budget, ..."),
  node_value STRING OPTIONS (description = "the name or value as it was shown"),
  confidence FLOAT64 OPTIONS (description = "0 to 1"),
  artifact_uri STRING OPTIONS (description = "a document that belongs to it"),
  biz_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: node_key, node_type and node_value, hashed"),
  node_key STRING NOT NULL OPTIONS (description = "tech_nodes.node_key of the step"),
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  trace_id STRING,
  event_id STRING OPTIONS (description = "the last row it was seen in"),
  canonical_key STRING OPTIONS (description = "the same for one entity wherever it is seen"),
  norm JSON OPTIONS (description = "the typed form of node_value"),
  attributes JSON OPTIONS (description = "the typed facts seen with it"),
  source STRING OPTIONS (description = "declared, rule, action or model"),
  evaluated_at TIMESTAMP NOT NULL OPTIONS (description = "the time of the last row of the step that it was seen in"),
  recorder STRING OPTIONS (description = "the id of the journal that wrote the row, or dataset"),
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  first_evaluated_at TIMESTAMP OPTIONS (description = "the time of the first row of the step that the entity was seen in; NULL: evaluated_at"),
  sightings ARRAY<STRUCT<event_id STRING OPTIONS (description = "the row it was seen in"), evaluated_at TIMESTAMP OPTIONS (description = "from when on the step knew this"), confidence FLOAT64 OPTIONS (description = "0 to 1"), artifact_uri STRING OPTIONS (description = "a document that belongs to it"), source STRING OPTIONS (description = "declared, rule, action or model"), norm STRING OPTIONS (description = "JSON: the typed form of node_value"), attributes STRING OPTIONS (description = "JSON: the typed facts seen with it")>> OPTIONS (description = "the entity as the step knew it after each row that it was seen in before evaluated_at, in the order of the rows: for a decision that lies between; empty for nearly all")
)
PARTITION BY DATE(evaluated_at)
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "The business entities that steps evaluated: one row per step, type and value. Nodes BizNode of the graph."
);
CREATE TABLE IF NOT EXISTS `my-project.agents.context_cross_links` (
  link_id STRING OPTIONS (description = "extracted_biz_nodes.biz_node_id"),
  span_id STRING,
  session_id STRING NOT NULL,
  biz_node_id STRING,
  node_value STRING,
  link_type STRING OPTIONS (description = "EVALUATED"),
  artifact_uri STRING,
  created_at TIMESTAMP,
  link_key STRING NOT NULL OPTIONS (description = "32 hexadecimal digits: the same as biz_key"),
  node_key STRING NOT NULL OPTIONS (description = "tech_nodes.node_key"),
  biz_key STRING NOT NULL OPTIONS (description = "extracted_biz_nodes.biz_key"),
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  source STRING OPTIONS (description = "extracted_biz_nodes.source"),
  evaluated_at TIMESTAMP NOT NULL OPTIONS (description = "the time of the last row of the step that the entity was seen in"),
  recorder STRING OPTIONS (description = "the id of the journal that wrote the row, or dataset"),
  updated_at TIMESTAMP,
  first_evaluated_at TIMESTAMP OPTIONS (description = "the time of the first row of the step that the entity was seen in; NULL: evaluated_at")
)
PARTITION BY DATE(evaluated_at)
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "Which step evaluated which entity. Edges Evaluated of the graph."
);
CREATE TABLE IF NOT EXISTS `my-project.agents.world_change_checks` (
  check_id STRING NOT NULL OPTIONS (description = "event_id of the row WORLD_CHANGE_CHECK"),
  app_name STRING NOT NULL,
  user_id STRING NOT NULL,
  session_id STRING NOT NULL,
  checked_at TIMESTAMP NOT NULL OPTIONS (description = "when the check ended"),
  verdict STRING OPTIONS (description = "safe, drift or check_failed"),
  stage STRING OPTIONS (description = "answer, execution or check"),
  approval_id STRING,
  confirmation_id STRING,
  call_id STRING OPTIONS (description = "the id of the tool call"),
  tool STRING,
  entities_checked INT64,
  stale_entities INT64,
  failed_entities INT64,
  alerts ARRAY<STRUCT<entity_type STRING, value STRING OPTIONS (description = "the entity"), attribute STRING, drift_type STRING, before STRING, after STRING, severity FLOAT64 OPTIONS (description = "0 to 1")>> OPTIONS (description = "what changed"),
  detail JSON OPTIONS (description = "the whole report"),
  recorder STRING OPTIONS (description = "the id of the journal that wrote the row, or dataset"),
  created_at TIMESTAMP NOT NULL,
  node_key STRING OPTIONS (description = "tech_nodes.node_key of the step that the row belongs to")
)
PARTITION BY DATE(checked_at)
CLUSTER BY app_name, user_id, session_id
OPTIONS (
  description = "The verdicts of world-change checks: one row per check."
);
