// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"cmp"
	"time"
)

// Config says which dataset the rows of a journal are streamed to, and what is made of
// them there: the section bigquery of the configuration file. The zero value is off.
type Config struct {
	// Project is the project of the dataset. Required.
	Project string
	// BillingProject is the project that runs and pays for the queries. Defaults to
	// Project.
	BillingProject string
	// Dataset holds the tables, views and the graph. Required.
	Dataset string
	// Location is where the dataset is, such as US or europe-west3. It is needed only
	// to create the dataset; one that exists has its own. Defaults to US.
	Location string
	// Table is the table of events. Other tables are named by their contents.
	// Defaults to [DefaultTable].
	Table string
	// ViewPrefix begins the names of the typed views, before an underscore. Two tables
	// of events in one dataset need two prefixes. Defaults to [DefaultViewPrefix].
	ViewPrefix string
	// NoInit leaves it to "contextgraph init" to create and upgrade the tables, views
	// and the graph (in a file: "init: false"). Defaults to false: it is done once, in
	// the background, when the instance starts.
	NoInit bool
	// Labels are set on every job, beside those of contextgraph. Defaults to none.
	Labels map[string]string
	// MaxBytesBilled bounds what one query may read, in bytes. A query that would read
	// more fails and costs nothing. BigQuery holds its estimate against it, which knows
	// partitions but not clusters. Defaults to [DefaultMaxBytesBilled].
	MaxBytesBilled int64
	// Stream says how rows get to the dataset.
	Stream StreamConfig
	// Graph says how the graph is kept and asked.
	Graph GraphConfig
	// Extract asks a model for entities that no rule finds.
	Extract ExtractConfig
}

// StreamConfig says how rows get from the journal to the dataset.
type StreamConfig struct {
	// BatchBytes is how large a request may grow before it is sent, in encoded bytes.
	// Defaults to [DefaultBatchBytes].
	BatchBytes int
	// BatchAge is how long the first row of a request waits for others. Defaults to
	// [DefaultBatchAge].
	BatchAge time.Duration
	// InFlight is how many requests may wait for their answers at a time. Defaults to
	// [DefaultInFlight].
	InFlight int
	// AckTimeout is how long a request may go unanswered before the stream is dropped
	// and another one opened. Defaults to [DefaultAckTimeout].
	AckTimeout time.Duration
	// FlushOnRunEnd makes the end of a run wait until BigQuery has acknowledged its
	// rows, for at most FlushTimeout: for machines whose disk goes with the instance.
	// Defaults to false.
	FlushOnRunEnd bool
	// FlushTimeout bounds that wait. Defaults to [DefaultFlushTimeout].
	FlushTimeout time.Duration
}

// GraphConfig says how the graph is kept and asked.
type GraphConfig struct {
	// NoSync leaves the graph tables to "contextgraph sync" (in a file: "sync: false").
	// Defaults to false: a request for a confirmation brings the graph of its session
	// to the dataset, in the background.
	NoSync bool
	// Name is the property graph. Defaults to [DefaultGraph].
	Name string
	// Queries says how questions are asked. Defaults to [QueriesAuto].
	Queries Queries
}

// Queries says in which language questions about the graph are asked.
type Queries string

const (
	// QueriesAuto asks in GQL where the dataset has the property graph and in
	// recursive SQL where it has not, which the first question finds out.
	QueriesAuto Queries = "auto"
	// QueriesGQL asks in GQL. It needs on-demand pricing or a reservation of an edition
	// that has graphs.
	QueriesGQL Queries = "gql"
	// QueriesRecursive asks in recursive SQL, which every edition has.
	QueriesRecursive Queries = "recursive"
)

// ExtractConfig asks a model for entities, inside BigQuery, with AI.GENERATE. The zero
// value asks none.
type ExtractConfig struct {
	// Model is the short name of a Gemini model, such as gemini-2.5-flash, or the https
	// URL of a Vertex AI endpoint. Empty means that no model is asked.
	Model string
	// Location is the region of the model's endpoint, such as europe-west3, so that
	// payloads stay where they are; global for the global endpoint. It is not used
	// with a URL. Defaults to where the dataset is, which it is asked for.
	Location string
	// Connection is the connection whose service account asks the model, as
	// location.name or project.location.name. Defaults to none: the caller's own
	// credentials are used.
	Connection string
	// EntityTypes are the types the model looks for. Defaults to [DefaultEntityTypes].
	EntityTypes []string
	// PlainText asks for JSON in the answer's text in place of an output_schema, for
	// models and regions that do not take one. Defaults to false.
	PlainText bool
	// MaxRows bounds the rows that one extraction sends to the model. Defaults to
	// [DefaultExtractRows].
	MaxRows int
}

// The defaults of Config.
const (
	DefaultTable          = "agent_events"
	DefaultViewPrefix     = "v"
	DefaultLocation       = "US"
	DefaultMaxBytesBilled = 10 << 30
	DefaultBatchBytes     = 1 << 20
	DefaultBatchAge       = time.Second
	DefaultInFlight       = 4
	DefaultAckTimeout     = 30 * time.Second
	DefaultFlushTimeout   = 5 * time.Second
	DefaultGraph          = "agent_context_graph"
	DefaultExtractRows    = 1000
)

// MaxBatchBytes is the largest BatchBytes: the Storage Write API refuses requests of
// more than 10,485,760 bytes, and what it adds to the rows is not documented.
const MaxBatchBytes = 9 << 20

// DefaultEntityTypes returns the types a model looks for where none are configured:
// those of the Python implementation.
func DefaultEntityTypes() []string {
	return []string{"Product", "Targeting", "Campaign", "Budget", "Audience", "Creative", "Placement"}
}

// Enabled reports whether a dataset is configured.
func (c Config) Enabled() bool { return c.Project != "" || c.Dataset != "" }

// WithDefaults returns c with every default written out.
func (c Config) WithDefaults() Config {
	c.BillingProject = cmp.Or(c.BillingProject, c.Project)
	c.Location = cmp.Or(c.Location, DefaultLocation)
	c.Table = cmp.Or(c.Table, DefaultTable)
	c.ViewPrefix = cmp.Or(c.ViewPrefix, DefaultViewPrefix)
	c.MaxBytesBilled = cmp.Or(c.MaxBytesBilled, DefaultMaxBytesBilled)
	s := &c.Stream
	s.BatchBytes = cmp.Or(s.BatchBytes, DefaultBatchBytes)
	s.BatchAge = cmp.Or(s.BatchAge, DefaultBatchAge)
	s.InFlight = cmp.Or(s.InFlight, DefaultInFlight)
	s.AckTimeout = cmp.Or(s.AckTimeout, DefaultAckTimeout)
	s.FlushTimeout = cmp.Or(s.FlushTimeout, DefaultFlushTimeout)
	c.Graph.Name = cmp.Or(c.Graph.Name, DefaultGraph)
	c.Graph.Queries = cmp.Or(c.Graph.Queries, QueriesAuto)
	if len(c.Extract.EntityTypes) == 0 {
		c.Extract.EntityTypes = DefaultEntityTypes()
	}
	c.Extract.MaxRows = cmp.Or(c.Extract.MaxRows, DefaultExtractRows)
	return c
}
