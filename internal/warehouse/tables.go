// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import "github.com/adk-contextgraph/contextgraph/internal/schema"

// Column is one column of a table, or one field of a column of type STRUCT: Name, Type (a
// type of GoogleSQL: STRING, JSON, TIMESTAMP, DATE, BOOL, INT64, FLOAT64 or STRUCT), Mode
// (REQUIRED, NULLABLE or REPEATED), the Fields of a STRUCT, and a Description.
type Column = schema.Column

// Table is the definition of one table. The order of the columns is that in which the
// table is made; a table that exists keeps its own.
type Table struct {
	Name        string
	Description string
	Columns     []Column
	// PartitionBy is the column whose days are the partitions: a DATE or a TIMESTAMP.
	PartitionBy string
	ClusterBy   []string
	// Labels are those of the table beside the ones that say which version made it.
	Labels map[string]string
}

// Partition returns what the table is partitioned by, as a statement has it: days.
func (t Table) Partition() string {
	for _, c := range t.Columns {
		if c.Name == t.PartitionBy && c.Type == "DATE" {
			return t.PartitionBy
		}
	}
	return "DATE(" + t.PartitionBy + ")"
}

// pythonSchemaVersion is the version of the table of events that the plugin for Python
// puts into the label adk_schema_version, and by which it knows that the table needs no
// upgrade: the one with event_id.
const pythonSchemaVersion = "2"

// EventsTable returns the definition of the table of events: columns, partitions, label and, unless
// the configuration says others, clusters are those of the plugin for Python, which may write to it
// too.
func (n Names) EventsTable() Table {
	return Table{
		Name:        n.Events(),
		Description: "What agents did: one row per step. Rows may be there twice; " + n.UniqueEvents() + " shows each once.",
		Columns:     schema.Columns(),
		PartitionBy: "timestamp",
		ClusterBy:   n.clusterBy,
		Labels:      map[string]string{PythonVersionLabel: pythonSchemaVersion},
	}
}

// Tables returns the definitions of all tables: that of events, then [GraphTables].
func (n Names) Tables() []Table {
	return append([]Table{n.EventsTable()}, GraphTables()...)
}

// bySession is how the tables of the graph are clustered: the graph is written and read
// by session.
func bySession() []string { return []string{"app_name", "user_id", "session_id"} }

// Short forms for the definitions below.

func column(name, typ, description string) Column {
	return Column{Name: name, Type: typ, Mode: "NULLABLE", Description: description}
}

func required(name, typ, description string) Column {
	return Column{Name: name, Type: typ, Mode: "REQUIRED", Description: description}
}

func repeated(name, typ, description string, fields ...Column) Column {
	return Column{Name: name, Type: typ, Mode: "REPEATED", Description: description, Fields: fields}
}

// GraphTables returns the definitions of the tables beside the table of events, in the
// order in which they are made.
func GraphTables() []Table {
	return []Table{SessionGraphsTable(), ExtractedRowsTable()}
}

// SessionGraphsTable returns the definition of the table of graphs. Rows are appended and
// never changed.
func SessionGraphsTable() Table {
	return Table{
		Name: SessionGraphs,
		Description: "The graphs of sessions: one row per part of a version that a writer read of a session. " +
			"Nothing is changed here; the views " + GraphSteps + " and others show what is newest.",
		Columns: []Column{
			required("app_name", "STRING", ""),
			required("user_id", "STRING", ""),
			required("session_id", "STRING", ""),
			required("session_day", "DATE", "the day of the first row that the writer has of the session, UTC"),
			required("writer", "STRING", "journal, dataset or model"),
			required("writer_id", "STRING", "the id of the journal, or of the extraction by a model; else empty"),
			required("sync_id", "STRING", "what the parts of one graph have in common; of two with one version, the greater one is the later"),
			required("version", "INT64", "greater for a graph of more rows of one writer and session"),
			required("read_to", "TIMESTAMP", "the time of the latest row that was read"),
			required("part", "INT64", "from 0"),
			required("parts", "INT64", "the number of parts: the version counts when all are there"),
			repeated("nodes", "STRUCT", "the steps, each with all that hangs on it", nodeColumns()...),
		},
		PartitionBy: "session_day",
		ClusterBy:   bySession(),
	}
}

func nodeColumns() []Column {
	return []Column{
		required("node_key", "STRING", "32 hexadecimal digits: application, user, session, trace and span, hashed"),
		column("trace_id", "STRING", ""),
		column("span_id", "STRING", ""),
		column("parent_span_id", "STRING", "the first one that is not empty"),
		column("kind", "STRING", "invocation, agent, llm, tool, hitl, check, node or other"),
		column("name", "STRING", "the agent, the model, the tool, or the kind"),
		column("agent", "STRING", ""),
		column("invocation_id", "STRING", ""),
		column("branch", "STRING", "the branch of the agent; empty for the main branch"),
		column("call_id", "STRING", "the id of the tool call"),
		column("approval", "BOOL", "whether a confirmation was asked here"),
		repeated("event_types", "STRING", "the types of the rows, in the order of recording"),
		repeated("event_ids", "STRING", "the ids of the rows, in the order of recording"),
		column("start_time", "TIMESTAMP", "the first row"),
		column("end_time", "TIMESTAMP", "the last row"),
		column("decided_at", "TIMESTAMP", "the last request for a confirmation, else the last row: nothing later counts for this decision"),
		column("status", "STRING", "OK or ERROR, of the last row"),
		column("error_message", "STRING", ""),
		column("latency_ms", "FLOAT64", "milliseconds"),
		column("position", "INT64", "the place of the node in its session, from 0: nodes of one time have an order too"),
		repeated("caused_by", "STRUCT", "the edges that end in the step",
			required("edge_key", "STRING", "32 hexadecimal digits: from_key, kind and the key of the step, hashed"),
			required("from_key", "STRING", "the key of the step that is the cause"),
			required("kind", "STRING", "contains, informs or resumes"),
		),
		repeated("entities", "STRUCT", "the business entities that the step evaluated", entityColumns()...),
		repeated("checks", "STRUCT", "the world-change checks whose rows belong to the step", checkColumns()...),
	}
}

func entityColumns() []Column {
	return []Column{
		required("biz_key", "STRING", "32 hexadecimal digits: the key of the step, node_type and node_value, hashed"),
		column("node_type", "STRING", "Product, Budget, ..."),
		column("node_value", "STRING", "the name or value as it was shown"),
		column("confidence", "FLOAT64", "0 to 1"),
		column("artifact_uri", "STRING", "a document that belongs to it"),
		column("event_id", "STRING", "the last row it was seen in"),
		column("canonical_key", "STRING", "the same for one entity wherever it is seen"),
		column("norm", "JSON", "the typed form of node_value"),
		column("attributes", "JSON", "the typed facts seen with it"),
		column("source", "STRING", "declared or rule, which show it; action, claim or model"),
		column("link_type", "STRING", "EVALUATED: the step showed the entity, or a model found it there; NAMED: the step only named it, as what a call acts on"),
		column("evaluated_at", "TIMESTAMP", "the time of the last row of the step that it was seen in"),
		column("first_evaluated_at", "TIMESTAMP", "the time of the first row of the step that it was seen in"),
		repeated("sightings", "STRUCT", "the entity as the step knew it after each row that it was seen in before evaluated_at, in the order of the rows: "+
			"for a decision that lies between; empty for nearly all",
			column("event_id", "STRING", "the row it was seen in"),
			column("evaluated_at", "TIMESTAMP", "from when on the step knew this"),
			column("confidence", "FLOAT64", "0 to 1"),
			column("artifact_uri", "STRING", "a document that belongs to it"),
			column("source", "STRING", "declared or rule, which show it; action, claim or model"),
			column("norm", "STRING", "JSON: the typed form of node_value"),
			column("attributes", "STRING", "JSON: the typed facts seen with it"),
			column("echoes", "STRING", "JSON: the attributes that only repeat arguments, or that only words say"),
		),
		column("echoes", "JSON", "the names of the attributes that only repeat the arguments of the call, or that only words say; NULL for none"),
	}
}

func checkColumns() []Column {
	return []Column{
		required("check_id", "STRING", "event_id of the row WORLD_CHANGE_CHECK"),
		column("checked_at", "TIMESTAMP", "when the check ended"),
		column("verdict", "STRING", "safe, drift or check_failed"),
		column("stage", "STRING", "answer, execution or check"),
		column("approval_id", "STRING", ""),
		column("confirmation_id", "STRING", ""),
		column("call_id", "STRING", "the id of the tool call"),
		column("tool", "STRING", ""),
		column("entities_checked", "INT64", ""),
		column("stale_entities", "INT64", ""),
		column("failed_entities", "INT64", ""),
		repeated("alerts", "STRUCT", "what changed",
			column("entity_type", "STRING", ""),
			column("value", "STRING", "the entity"),
			column("attribute", "STRING", ""),
			column("drift_type", "STRING", ""),
			column("before", "STRING", ""),
			column("after", "STRING", ""),
			column("severity", "FLOAT64", "0 to 1"),
		),
		column("detail", "JSON", "the whole report"),
	}
}

// ExtractedRowsTable returns the definition of the table of what a model has read.
func ExtractedRowsTable() Table {
	return Table{
		Name:        ExtractedRows,
		Description: "What came of the rows of events that a model was asked about: one row for each time it was asked.",
		Columns: []Column{
			required("app_name", "STRING", ""),
			required("user_id", "STRING", ""),
			required("session_id", "STRING", ""),
			required("event_id", "STRING", "the row that was read"),
			required("extractor", "STRING", "a digest of model, prompt and entity types"),
			required("status", "STRING", "OK, EMPTY, FAILED or UNPARSEABLE; rows with the last two are read again"),
			column("error", "STRING", "why the call of the model failed, or what it answered in place of a list"),
			column("entities", "INT64", "the number of entities found"),
			column("dropped", "INT64", "the number of answers that are no entities of the types asked for"),
			column("truncated", "BOOL", "whether the model read a part of the row only"),
			column("attempt", "INT64", "how often the row was sent, from 1"),
			required("processed_at", "TIMESTAMP", ""),
		},
		PartitionBy: "processed_at",
		ClusterBy:   bySession(),
	}
}
