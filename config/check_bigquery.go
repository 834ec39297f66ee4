// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	minBytesBilled  = 10 << 20 // the least that BigQuery bills for a query
	maxFlushTimeout = 5 * time.Minute
	maxExtractRows  = 100_000
	// maxThinking is the largest thinking budget of a Gemini model, in tokens.
	maxThinking = 32_768
	// maxClustering is how many columns a table can be clustered by:
	// https://cloud.google.com/bigquery/docs/creating-clustered-tables#limitations.
	maxClustering = 4
	maxLabels     = 50 // of 64 that a job may have; the rest are those of contextgraph
)

// What labels may be: https://cloud.google.com/bigquery/docs/labels-intro#requirements,
// without letters of other scripts.
var (
	labelKey   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[a-z0-9_-]{0,63}$`)
)

// clusterable are the columns of the table of events that a table can be clustered by.
func clusterable() []string {
	return []string{
		"timestamp", "event_id", "event_type", "agent", "session_id", "invocation_id", "user_id", "trace_id", "span_id", "parent_span_id",
		"status", "error_message", "is_truncated",
	}
}

func (b *BigQuery) check(p *problems) {
	for i, column := range b.PayloadColumnDenylist {
		word(p, Index("bigquery.payload_column_denylist", i), column, "is not a column that may stay out of the dataset",
			PayloadContent, PayloadContentParts, PayloadAttributes, PayloadLatency)
	}
	if !b.Enabled() {
		return
	}
	p.when(len(b.Labels) > maxLabels, "bigquery.labels", strconv.Itoa(len(b.Labels))+" labels", "keep at most "+strconv.Itoa(maxLabels))
	sorted("bigquery.labels", b.Labels, func(at, label, value string) {
		p.when(!labelKey.MatchString(label) || strings.HasPrefix(label, "sdk"), at, Quote(label)+" cannot be a label",
			"use lower-case letters, digits, underscores and hyphens, beginning with a letter and not with sdk")
		p.when(!labelValue.MatchString(value), at, Quote(value)+" cannot be the value of a label", "use at most 63 lower-case letters, digits, underscores and hyphens")
	})
	const clustering = "bigquery.clustering_fields"
	for i, f := range b.ClusteringFields {
		p.when(!slices.Contains(clusterable(), f), Index(clustering, i), Quote(f)+" is not a column that a table can be clustered by", choose(f, "write one of", clusterable()))
	}
	p.unique(clustering, "", b.ClusteringFields)
	p.when(len(b.ClusteringFields) > maxClustering, clustering, strconv.Itoa(len(b.ClusteringFields))+" columns", "keep at most "+strconv.Itoa(maxClustering))
	p.size("bigquery.max_bytes_billed", b.MaxBytesBilled, minBytesBilled, math.MaxInt64)
	p.duration("bigquery.stream.flush_timeout", b.Stream.FlushTimeout, 0, maxFlushTimeout)
	p.count("bigquery.extract.thinking_budget", b.Extract.ThinkingBudget, maxThinking)
	p.count("bigquery.extract.max_rows", b.Extract.MaxRows, maxExtractRows)
	for i, t := range b.Extract.EntityTypes {
		p.entityType(Index("bigquery.extract.entity_types", i), t)
	}
}
