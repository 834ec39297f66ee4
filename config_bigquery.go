// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

func (d *decoder) bigquery(c *warehouse.Config) decodeFunc {
	return d.mapping([]key{
		{"project", text(d, &c.Project)},
		{"billing_project", text(d, &c.BillingProject)},
		{"dataset", text(d, &c.Dataset)},
		{"location", text(d, &c.Location)},
		{"table", text(d, &c.Table)},
		{"view_prefix", text(d, &c.ViewPrefix)},
		{"init", d.boolean(func(v bool) { c.NoInit = !v })},
		{"labels", entries(d, &c.Labels, func(s *string) decodeFunc { return text(d, s) })},
		{"max_bytes_billed", size(d, &c.MaxBytesBilled, "10GiB")},
		{"stream", d.mapping([]key{
			{"batch_bytes", size(d, &c.Stream.BatchBytes, "1MiB")},
			{"batch_age", d.duration(&c.Stream.BatchAge, "1s")},
			{"in_flight", d.count(&c.Stream.InFlight, "4")},
			{"ack_timeout", d.duration(&c.Stream.AckTimeout, "30s")},
			{"flush_on_run_end", d.boolean(func(v bool) { c.Stream.FlushOnRunEnd = v })},
			{"flush_timeout", d.duration(&c.Stream.FlushTimeout, "5s")},
		})},
		{"graph", d.mapping([]key{
			{"sync", d.boolean(func(v bool) { c.Graph.NoSync = !v })},
			{"name", text(d, &c.Graph.Name)},
			{"queries", text(d, &c.Graph.Queries)},
		})},
		{"extract", d.mapping([]key{
			{"model", text(d, &c.Extract.Model)},
			{"location", text(d, &c.Extract.Location)},
			{"connection", text(d, &c.Extract.Connection)},
			{"entity_types", d.texts(&c.Extract.EntityTypes)},
			{"plain_text", d.boolean(func(v bool) { c.Extract.PlainText = v })},
			{"max_rows", d.count(&c.Extract.MaxRows, "1000")},
		})},
	})
}

// The bounds of a warehouse.Config.
const (
	minBytesBilled  = 10 << 20 // the least that BigQuery bills for a query
	minBatchBytes   = 16 << 10
	maxBatchAge     = time.Minute
	maxInFlight     = 64
	minAckTimeout   = time.Second
	maxAckTimeout   = 10 * time.Minute
	maxFlushTimeout = 5 * time.Minute
	maxExtractRows  = 100_000
	maxLabels       = 50 // of 64 that a job may have; the rest are those of contextgraph
)

// What labels may be: https://cloud.google.com/bigquery/docs/labels-intro#requirements,
// without letters of other scripts.
var (
	labelKey   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[a-z0-9_-]{0,63}$`)
)

func (c Config) checkBigQuery(p *problems, k keyPath) {
	b := c.BigQuery
	if !b.Enabled() {
		return
	}
	_, err := b.Names()
	checkNames(p, k, err)
	if b.Extract.Model != "" && err == nil {
		_, endpoint := b.ExtractEndpoint(warehouse.DefaultLocation) // wherever it is: only its form counts here
		_, connection := b.ExtractConnection()
		checkNames(p, k, errors.Join(endpoint, connection))
	}
	if len(b.Labels) > maxLabels {
		p.add(k.field("labels"), strconv.Itoa(len(b.Labels))+" labels", "keep at most "+strconv.Itoa(maxLabels))
	}
	for name, value := range b.Labels {
		at := k.field("labels").entry(name)
		switch {
		case !labelKey.MatchString(name) || strings.HasPrefix(name, "sdk"):
			p.add(at, quote(name)+" cannot be a label", "use lower-case letters, digits, underscores and hyphens, beginning with a letter and not with sdk")
		case !labelValue.MatchString(value):
			p.add(at, quote(value)+" cannot be the value of a label", "use at most 63 lower-case letters, digits, underscores and hyphens")
		}
	}
	checkSize(p, k.field("max_bytes_billed"), b.MaxBytesBilled, minBytesBilled, 0)
	c.checkStream(p, k.field("stream"))
	switch b.Graph.Queries {
	case "", warehouse.QueriesAuto, warehouse.QueriesGQL, warehouse.QueriesRecursive:
	default:
		p.add(k.field("graph").field("queries"), quote(string(b.Graph.Queries))+" does not say how questions are asked",
			choose(b.Graph.Queries, warehouse.QueriesAuto, warehouse.QueriesGQL, warehouse.QueriesRecursive))
	}
	extract := k.field("extract")
	checkCount(p, extract.field("max_rows"), b.Extract.MaxRows, maxExtractRows)
	for i, t := range b.Extract.EntityTypes {
		entityType(p, extract.field("entity_types").index(i), t)
	}
}

// checkNames reports the names that err says cannot be used.
func checkNames(p *problems, k keyPath, err error) {
	for _, e := range unjoin(err) {
		var name *warehouse.NameError
		if !errors.As(e, &name) {
			continue
		}
		at := k
		for part := range strings.SplitSeq(name.What, ".") {
			at = at.field(part)
		}
		problem := quote(name.Name) + " cannot be used in a statement"
		if name.Name == "" {
			problem = "missing"
		}
		p.add(at, problem, name.Remedy)
	}
}

func (c Config) checkStream(p *problems, k keyPath) {
	s := c.BigQuery.Stream
	checkSize(p, k.field("batch_bytes"), int64(s.BatchBytes), minBatchBytes, warehouse.MaxBatchBytes)
	checkDuration(p, k.field("batch_age"), s.BatchAge, maxBatchAge)
	checkCount(p, k.field("in_flight"), s.InFlight, maxInFlight)
	ack := k.field("ack_timeout")
	checkDuration(p, ack, s.AckTimeout, maxAckTimeout)
	if s.AckTimeout > 0 && s.AckTimeout < minAckTimeout {
		p.add(ack, s.AckTimeout.String()+" is too short", "write at least "+minAckTimeout.String()+": a slow answer would be taken for none")
	}
	checkDuration(p, k.field("flush_timeout"), s.FlushTimeout, maxFlushTimeout)
}

// checkCount reports a number that is not between 1 and most, unless it is not set.
func checkCount(p *problems, k keyPath, n, most int) {
	if n < 0 || n > most {
		p.add(k, strconv.Itoa(n)+" is not between 1 and "+strconv.Itoa(most), "write a number in that range, or leave it out for the default")
	}
}

// unjoin returns the errors that were joined in err, or err alone.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
