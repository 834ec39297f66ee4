// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

// Record says which parts of a run are written, and how. By default everything is written.
//
// Event types are those of the event_type column, such as LLM_REQUEST. These types prove that the
// record of an approval is complete: HITL_CONFIRMATION_REQUEST and its _COMPLETED,
// WORLD_CHANGE_CHECK, INVOCATION_STARTING, INVOCATION_COMPLETED and INVOCATION_ERROR. They are
// always written whole; Allow, Deny and Content have no effect on them.
//
// While the configuration enforces approvals, their evidence cannot be left out either: the types
// USER_MESSAGE_RECEIVED and AGENT_, LLM_ and TOOL_ with _STARTING, _REQUEST, _RESPONSE, _COMPLETED
// or _ERROR, and the content of USER_MESSAGE_RECEIVED, TOOL_STARTING, TOOL_COMPLETED and
// TOOL_ERROR.
type Record struct {
	// Allow names the event types that are written, besides those that always
	// are. Defaults to none, which means all.
	Allow []string `yaml:"allow"`
	// Deny names event types that are not written. It wins over Allow. Defaults to
	// none.
	Deny []string `yaml:"deny"`
	// Content says, by event type, how much of the payload is written. Without an entry
	// it is [ContentFull]. Defaults to none.
	Content map[string]ContentPolicy `yaml:"content"`
	// PromptHistory says how much of a prompt is written with each request.
	// Defaults to [PromptFull].
	PromptHistory PromptHistory `yaml:"prompt_history"`
	// Chunks writes a row for every chunk of a streamed answer, marked as partial,
	// beside the row with the whole answer. Defaults to false.
	Chunks bool `yaml:"chunks"`
	// SessionState writes the state of a session: once per session, and afterwards what
	// changed. Defaults to true.
	SessionState *bool `yaml:"session_state"`
	// Tags are written with every row, under attributes.custom_tags: at most 64,
	// with names of at most 64 characters and values of at most 1,024 bytes.
	// Defaults to none.
	Tags map[string]string `yaml:"tags"`
	// Metadata names the keys of an event's CustomMetadata that are written: exact,
	// or a prefix ending in *. Defaults to none.
	Metadata []string `yaml:"metadata"`
	// FinalResponseTools names tools with arguments that are the final answer of an agent. Defaults
	// to none.
	FinalResponseTools []string `yaml:"final_response_tools"`
	// MaxString bounds one text, from 100 bytes to MaxRow. A longer text is cut and marked.
	// Defaults to 512KB, or to MaxRow if that is smaller.
	MaxString Size `yaml:"max_string"`
	// MaxRow bounds one row, from 10KB to 9MB, the limit of BigQuery. Defaults to 1MB.
	MaxRow Size `yaml:"max_row"`
	// Redact names secrets beyond those that are always removed.
	Redact Redact `yaml:"redact"`
	// Artifacts says where large and binary parts are kept.
	Artifacts Artifacts `yaml:"artifacts"`
}

// PromptHistory says how much of a prompt is written with each model request.
type PromptHistory string

const (
	// PromptFull writes the whole prompt each time.
	PromptFull PromptHistory = "full"
	// PromptDelta writes the messages that were not written before, and a reference to the row with
	// the earlier ones. So a long session does not cost the square of its length.
	PromptDelta PromptHistory = "delta"
)

// Redact names secrets. Its rules add to the built-in ones; they replace
// none.
type Redact struct {
	// Keys are names with values to remove, in any place: at least two characters. Defaults to
	// none.
	Keys []string `yaml:"keys"`
	// Patterns are regular expressions (RE2); their matches in any text are replaced. None may
	// match the empty text. Defaults to none.
	Patterns []string `yaml:"patterns"`
}

// Artifacts says where large and binary parts of messages are kept, which
// never stand in a row.
type Artifacts struct {
	// Store is a folder, a bucket such as gs://bucket/prefix, or [StoreOff], which
	// keeps no part. Defaults to contextgraph.db.artifacts, or to the path of another
	// journal with .artifacts at the end, or with [Store] to off.
	Store string `yaml:"store"`
	// Connection is the BigQuery connection that reads the bucket, such as
	// us.my-connection: the authorizer of object references. It needs a bucket.
	// Defaults to none.
	Connection string `yaml:"connection"`
	// MaxBytes is the size of the largest part that is kept, at most 256MiB, which is the
	// room for the parts that wait to be stored. Defaults to 64MiB.
	MaxBytes Size `yaml:"max_bytes"`
}

// MaxPart is the most that [Artifacts.MaxBytes] may be, and the room for the parts that wait to
// be stored.
const MaxPart Size = 256 << 20

// StoreOff is the [Artifacts.Store] that keeps no part.
const StoreOff = "off"

// ContentPolicy says how much of the payload of an event type is written.
type ContentPolicy string

const (
	// ContentFull writes the payload.
	ContentFull ContentPolicy = "full"
	// ContentDigest writes the SHA-256 and the size of the payload in its place.
	ContentDigest ContentPolicy = "digest"
	// ContentNone writes no payload.
	ContentNone ContentPolicy = "none"
)
