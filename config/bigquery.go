// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import "time"

// BigQuery names the dataset that the rows of a journal are streamed to, and configures the stream
// and the graph there. Without a project and a dataset nothing is streamed.
type BigQuery struct {
	// Project is the project of the dataset. Required.
	Project string `yaml:"project"`
	// BillingProject is the project that runs and pays for the queries. Defaults to
	// Project.
	BillingProject string `yaml:"billing_project"`
	// Dataset holds the tables, views and the graph. Required.
	Dataset string `yaml:"dataset"`
	// Location is where the dataset is, such as US or europe-west3. It is needed only
	// to create the dataset; one that exists has its own. Defaults to US.
	Location string `yaml:"location"`
	// Table is the table of events. Other tables are named by their contents.
	// Defaults to agent_events.
	Table string `yaml:"table"`
	// ViewPrefix begins the names of the typed views, before an underscore. Two tables
	// of events in one dataset need two prefixes. Defaults to v.
	ViewPrefix string `yaml:"view_prefix"`
	// CreateViews makes a view for each event type. False leaves them out, and removes none; the
	// other views are made all the same, because questions read them. Defaults to true.
	CreateViews *bool `yaml:"create_views"`
	// ClusteringFields are the columns that the table of events is clustered by, the most
	// important one first, where it is created; a table that exists keeps its own. None is
	// clustered by an empty list. Defaults to event_type, agent, user_id.
	ClusteringFields []string `yaml:"clustering_fields"`
	// PayloadColumnDenylist are columns that stay out of the dataset: they are NULL in every row
	// that is streamed from now on. The journal keeps them, so the gate and graphs lack nothing.
	// Without attributes the dataset does not know the application of a row, nor what belongs to
	// an approval. Defaults to none.
	PayloadColumnDenylist []PayloadColumn `yaml:"payload_column_denylist"`
	// Init makes the tables, the views and the graph that are missing once, in the background,
	// when the instance starts. False leaves that to "contextgraph init". Defaults to true.
	Init *bool `yaml:"init"`
	// Labels are set on every job, in addition to those of contextgraph. Defaults to none.
	Labels map[string]string `yaml:"labels"`
	// MaxBytesBilled bounds what one query may read, in bytes. A query that would read
	// more fails and costs nothing. BigQuery holds its estimate against it, which knows
	// partitions but not clusters. Defaults to 10GiB.
	MaxBytesBilled Size `yaml:"max_bytes_billed"`
	// Stream says how rows get to the dataset.
	Stream Stream `yaml:"stream"`
	// Graph says how the graph is kept and asked.
	Graph Graph `yaml:"graph"`
	// Extract asks a model for entities that no rule finds.
	Extract Extraction `yaml:"extract"`
}

// Stream says how rows get from the journal to the dataset.
type Stream struct {
	// FlushOnRunEnd makes the end of a run wait until BigQuery has acknowledged its rows, for at
	// most FlushTimeout. It is for machines without a disk of their own. Defaults to false.
	FlushOnRunEnd bool `yaml:"flush_on_run_end"`
	// FlushTimeout bounds that wait. Defaults to 5s.
	FlushTimeout time.Duration `yaml:"flush_timeout"`
}

// Graph says how the graph is kept and asked.
type Graph struct {
	// Sync brings the graph of a session to the dataset, in the background, when a
	// confirmation is requested. False leaves that to "contextgraph sync". Defaults to true.
	Sync *bool `yaml:"sync"`
	// Name is the property graph. Defaults to contextgraph.
	Name string `yaml:"name"`
	// GQL makes the property graph, for people who ask it, where the edition of BigQuery has graphs. No question
	// of contextgraph needs it. Defaults to true.
	GQL *bool `yaml:"gql"`
}

// PayloadColumn is a column of the table of events that may stay out of the dataset.
type PayloadColumn string

// The columns with payloads.
const (
	PayloadContent      PayloadColumn = "content"
	PayloadContentParts PayloadColumn = "content_parts"
	PayloadAttributes   PayloadColumn = "attributes"
	PayloadLatency      PayloadColumn = "latency_ms"
)

// Extraction asks a model for entities, inside BigQuery, with AI.GENERATE. Without a model
// none are asked for.
type Extraction struct {
	// Model is the short name of a Gemini model, such as gemini-2.5-flash, or the https
	// URL of a Vertex AI endpoint. Defaults to none: no model is asked.
	Model string `yaml:"model"`
	// Location is the region of the model's endpoint, such as europe-west3, so that
	// payloads stay where they are; global for the global endpoint. It is not used
	// with a URL. Defaults to where the dataset is, which it is asked for.
	Location string `yaml:"location"`
	// Connection is the connection with the service account that asks the model, as location.name
	// or project.location.name. Defaults to none: the caller's own credentials are used.
	Connection string `yaml:"connection"`
	// EntityTypes are the types the model looks for. Defaults to Product, Targeting, Campaign,
	// Budget, Audience, Creative and Placement.
	EntityTypes []string `yaml:"entity_types"`
	// PlainText asks for JSON in the answer's text in place of an output_schema, for
	// models and regions that do not take one. Defaults to false.
	PlainText bool `yaml:"plain_text"`
	// ThinkingBudget is how many tokens the model may think for one row; thoughts are billed.
	// 0 stands for as few as a Gemini model takes: none for 2.5 flash, 128 for 2.5 pro, the
	// level LOW from version 3 on, and no setting for other models. Defaults to 0.
	ThinkingBudget int `yaml:"thinking_budget"`
	// MaxRows bounds the rows that one extraction sends to the model. Defaults to
	// 1000.
	MaxRows int `yaml:"max_rows"`
}
