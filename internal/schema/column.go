// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

// Column is a column of a table, or a field of one that is a STRUCT.
type Column struct {
	Name string
	// Type is the name that BigQuery's SQL has for the type: STRING, JSON, TIMESTAMP, DATE,
	// BOOL, INT64, FLOAT64 or STRUCT.
	Type string
	// Mode is REQUIRED, NULLABLE or REPEATED.
	Mode string
	// Fields are the fields of a STRUCT, else nil.
	Fields []Column
	// Description says in the table what the column holds.
	Description string
}

// The types and modes of columns.
const (
	String    = "STRING"
	JSON      = "JSON"
	Timestamp = "TIMESTAMP"
	Date      = "DATE"
	Bool      = "BOOL"
	Int64     = "INT64"
	Float64   = "FLOAT64"
	Struct    = "STRUCT"

	Required = "REQUIRED"
	Nullable = "NULLABLE"
	Repeated = "REPEATED"
)

// Columns returns the columns of the table of events in the order of the table. Names, types and
// modes are those of the BigQuery Agent Analytics plugin for Python, so that one table can hold
// rows of both. The caller may change the result.
//
// A column never moves and is never removed, and a new one goes to the end of its record: the place
// is the number of the field in the message that package wire writes.
func Columns() []Column {
	return []Column{
		{Name: "timestamp", Type: Timestamp, Mode: Required, Description: "Time of the step, UTC. Orders the rows of a session and partitions the table."},
		text("event_id", "32 hexadecimal digits, minted before the row is queued. A row that was delivered twice has it twice."),
		text("event_type", "Kind of step, such as LLM_REQUEST, TOOL_COMPLETED or HITL_CONFIRMATION_REQUEST."),
		text("agent", "Name of the agent that took the step."),
		text("session_id", "Session of the conversation. Unique only within an application (attributes.adk.app_name) and a user."),
		text("invocation_id", "Turn of the conversation. A turn that is resumed after an approval has the id of the turn that asked."),
		text("user_id", "User of the session."),
		text("trace_id", "Trace of the run, 32 hexadecimal digits: that of the caller where there is one."),
		text("span_id", "Span of the step, 16 hexadecimal digits. Spans are those of the recorder and form a tree in each trace; those of OpenTelemetry stand in attributes.otel."),
		text("parent_span_id", "Span that caused this one; NULL at the root of a trace."),
		{Name: "content", Type: JSON, Mode: Nullable, Description: "What the step took or gave. Its members depend on event_type."},
		{Name: "content_parts", Type: Struct, Mode: Repeated, Fields: partColumns(), Description: "Parts of a message: text, calls, and references to what is stored elsewhere."},
		{Name: "attributes", Type: JSON, Mode: Nullable, Description: "Circumstances of the step: model, usage, session metadata, and what the framework knows of it (adk, otel)."},
		{Name: "latency_ms", Type: JSON, Mode: Nullable, Description: "Duration in milliseconds: total_ms, and time_to_first_token_ms of a model that streams."},
		text("status", "OK or ERROR, never NULL in rows of contextgraph."),
		text("error_message", "What went wrong. May stand in a row with status OK where a model ended early."),
		{Name: "is_truncated", Type: Bool, Mode: Nullable, Description: "Whether something of content, content_parts or attributes was left out for its size, depth or form."},
	}
}

func partColumns() []Column {
	return []Column{
		text("mime_type", "Media type of the part; text/plain for text, application/json for calls."),
		text("uri", "Where the part is: gs:// for what was offloaded, or as the caller gave it."),
		{Name: "object_ref", Type: Struct, Mode: Nullable, Fields: []Column{
			text("uri", "Object in Cloud Storage."),
			text("version", "Generation of the object."),
			text("authorizer", "Connection by which BigQuery reads the object."),
			{Name: "details", Type: JSON, Mode: Nullable, Description: "Metadata of the object: gcs_metadata.content_type."},
		}, Description: "ObjectRef of an offloaded part, as BigQuery's object functions take it."},
		text("text", "Text of the part, or its beginning or a description where the part is not text or was offloaded."),
		{Name: "part_index", Type: Int64, Mode: Nullable, Description: "Place of the part in its message, from 0."},
		text("part_attributes", "JSON text of what else is known of the part, such as function_name."),
		text("storage_mode", "INLINE, GCS_REFERENCE or EXTERNAL_URI."),
	}
}

func text(name, description string) Column {
	return Column{Name: name, Type: String, Mode: Nullable, Description: description}
}
