// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"fmt"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
)

// The functions of this file list the keys of the configuration file, one
// function per mapping.

func (d *decoder) config(c *Config) decodeFunc {
	return d.mapping([]key{
		{"enabled", d.boolean(func(v bool) { c.Disabled = !v })},
		{"journal", d.journal(&c.Journal)},
		{"record", d.record(&c.Record)},
		{"guard", d.guard(&c.Guard)},
		{"extract", list(d, &c.Extract, d.extract)},
		{"checkers", list(d, &c.Checkers, d.checker)},
		{"bigquery", d.bigquery(&c.BigQuery)},
	})
}

func (d *decoder) journal(c *JournalConfig) decodeFunc {
	return d.mapping([]key{
		{"path", text(d, &c.Path)},
		{"durability", text(d, &c.Durability)},
		{"commit_interval", d.duration(&c.CommitInterval, "20ms")},
		{"queue_bytes", size(d, &c.QueueBytes, "64MiB")},
		{"queue_rows", d.count(&c.QueueRows, "100000")},
		{"on_full", text(d, &c.OnFull)},
		{"block_timeout", d.duration(&c.BlockTimeout, "100ms")},
		{"retention", d.mapping([]key{
			{"max_age", d.duration(&c.Retention.MaxAge, "720h")},
			{"max_size", size(d, &c.Retention.MaxSize, "1GiB")},
		})},
	})
}

func (d *decoder) record(c *RecordConfig) decodeFunc {
	return d.mapping([]key{
		{"allow", d.texts(&c.Allow)},
		{"deny", d.texts(&c.Deny)},
		{"content", entries(d, &c.Content, func(p *cgplugin.ContentPolicy) decodeFunc { return text(d, p) })},
		{"prompt_history", text(d, &c.PromptHistory)},
		{"chunks", d.boolean(func(v bool) { c.Chunks = v })},
		{"session_state", d.boolean(func(v bool) { c.NoSessionState = !v })},
		{"tags", entries(d, &c.Tags, func(s *string) decodeFunc { return text(d, s) })},
		{"metadata", d.texts(&c.Metadata)},
		{"final_response_tools", d.texts(&c.FinalResponseTools)},
		{"max_string", size(d, &c.MaxString, "512KB")},
		{"max_row", size(d, &c.MaxRow, "1MB")},
		{"redact", d.mapping([]key{
			{"keys", d.texts(&c.Redact.Keys)},
			{"patterns", d.texts(&c.Redact.Patterns)},
		})},
		{"artifacts", d.mapping([]key{
			{"store", text(d, &c.Artifacts.Store)},
			{"connection", text(d, &c.Artifacts.Connection)},
			{"max_bytes", size(d, &c.Artifacts.MaxBytes, "64MiB")},
			{"queue_bytes", size(d, &c.Artifacts.QueueBytes, "256MiB")},
		})},
	})
}

func (d *decoder) guard(c *GuardConfig) decodeFunc {
	return d.mapping([]key{
		{"mode", text(d, &c.Mode)},
		{"tools", d.texts(&c.Tools)},
		{"unguarded", text(d, &c.Unguarded)},
		{"inputs", d.texts(&c.Inputs)},
		{"self_approval", d.boolean(func(v bool) { c.SelfApproval = v })},
		{"request_lifetime", d.duration(&c.RequestLifetime, "168h")},
		{"check_age", d.duration(&c.CheckAge, "30s")},
		{"check_timeout", d.duration(&c.CheckTimeout, "5s")},
		{"check_deadline", d.duration(&c.CheckDeadline, "15s")},
		{"min_confidence", d.number(func(v float64) { c.MinConfidence = &v })},
		{"drift", entries(d, &c.Drift, d.drift)},
		{"types", entries(d, &c.Types, d.entityType)},
		{"require", d.named(&c.Require, "a requirement", "everything", "named", "listed")},
		{"listed", d.texts(&c.Listed)},
		{"budgets", list(d, &c.Budgets, d.budget)},
	})
}

func (d *decoder) drift(c *DriftConfig) decodeFunc {
	return d.mapping([]key{
		{"type", text(d, &c.Type)},
		{"severity", d.number(func(v float64) { c.Severity = &v })},
		{"tolerance", d.mapping([]key{
			{"percent", d.number(func(v float64) { c.Tolerance.Percent = v })},
			{"absolute", d.number(func(v float64) { c.Tolerance.Absolute = v })},
		})},
		{"direction", d.named(&c.Direction, "a direction", "either", "rise", "fall")},
		{"at_least", d.operand(&c.AtLeast, false)},
		{"at_most", d.operand(&c.AtMost, false)},
		{"one_of", d.operand(&c.OneOf, true)},
		{"equals", d.operand(&c.Equals, false)},
		{"effect", d.named(&c.Effect, "an effect", "block", "warn")},
		{"optional", d.boolean(func(v bool) { c.Optional = v })},
	})
}

func (d *decoder) extract(c *ExtractConfig) decodeFunc {
	rule := d.mapping([]key{
		{"name", text(d, &c.Name)},
		{"tool", text(d, &c.Tool)},
		{"in", d.part(&c.In)},
		{"event", text(d, &c.Event)},
		{"each", text(d, &c.Each)},
		{"type", text(d, &c.Type)},
		{"value", d.value(c)},
		{"value_type", d.kind(&c.ValueType)},
		{"currency", text(d, &c.Currency)},
		{"attributes", entries(d, &c.Attributes, d.extracted)},
		{"artifact_uri", text(d, &c.ArtifactURI)},
		{"confidence", d.confidence(&c.Confidence)},
		{"alternatives", d.boolean(func(v bool) { c.Alternatives = v })},
	})
	return func(k keyPath, n *yaml.Node) {
		c.Place = fmt.Sprintf("%s:%d", filepath.Base(d.file), n.Line)
		rule(k, n)
		// In a Config this is the zero value, which goes with an event.
		if c.Event != "" && c.In == graphsync.InResult && hasKey(n, "in") {
			d.add(k.field("in"), "the result belongs to a tool, not to an event", "write content, or leave the key out")
		}
	}
}

// value reads the path of a value, or the mapping that takes it from the arguments.
func (d *decoder) value(c *ExtractConfig) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			text(d, &c.Value)(k, n)
			return
		}
		d.mapping([]key{{"args", text(d, &c.ValueArgs)}})(k, n)
	}
}

// extracted lists the keys of an attribute of a rule.
func (d *decoder) extracted(c *AttributeConfig) decodeFunc {
	return d.mapping([]key{
		{"path", text(d, &c.Path)},
		{"type", d.kind(&c.Type)},
		{"currency", text(d, &c.Currency)},
		{"optional", d.boolean(func(v bool) { c.Optional = v })},
		{"looked_up", d.boolean(func(v bool) { c.LookedUp = v })},
	})
}

// attribute lists the keys of an attribute of a checker.
func (d *decoder) attribute(c *AttributeConfig) decodeFunc {
	return d.mapping([]key{
		{"path", text(d, &c.Path)},
		{"type", d.kind(&c.Type)},
		{"currency", text(d, &c.Currency)},
	})
}

func (d *decoder) checker(c *CheckerConfig) decodeFunc {
	return d.mapping([]key{
		{"type", text(d, &c.Type)},
		{"http", func(k keyPath, n *yaml.Node) {
			c.HTTP = new(HTTPCheckerConfig)
			d.http(c.HTTP)(k, n)
		}},
		{"sql", func(k keyPath, n *yaml.Node) {
			c.SQL = new(SQLCheckerConfig)
			d.sql(c.SQL)(k, n)
		}},
		{"replay", func(k keyPath, n *yaml.Node) {
			c.Replay = new(ReplayCheckerConfig)
			d.replay(c.Replay)(k, n)
		}},
	})
}

func (d *decoder) http(c *HTTPCheckerConfig) decodeFunc {
	return d.mapping([]key{
		{"url", text(d, &c.URL)},
		{"headers", entries(d, &c.Headers, d.secret)},
		{"as_of", text(d, &c.AsOf)},
		{"version", text(d, &c.Version)},
		{"attributes", entries(d, &c.Attributes, d.attribute)},
	})
}
