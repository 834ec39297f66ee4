// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

const (
	meterName  = "github.com/adk-contextgraph/contextgraph"
	reasonKey  = attribute.Key("reason")
	outcomeKey = attribute.Key("outcome")
)

// instruments are the metrics of an Instance. All are read from its Stats when the
// host's reader collects, so that recording costs nothing for them.
type instruments struct {
	rows, skipped, truncated, redacted, repaired, failures metric.Int64ObservableCounter
	unguarded                                              metric.Int64ObservableCounter
	stored, lost, removed                                  metric.Int64ObservableCounter
	queuedRows, queuedBytes, failing, heldSessions         metric.Int64ObservableGauge
	partsStored, partsLost                                 metric.Int64ObservableCounter
	replicated, replicatedBytes, retries, partsUnread      metric.Int64ObservableCounter
	lagRows, deadLetters, streamFailing, graphsPending     metric.Int64ObservableGauge
	graphsGivenUp                                          metric.Int64ObservableCounter
	lag                                                    metric.Float64ObservableGauge
	graphs                                                 metric.Int64ObservableCounter
}

// measure registers the metrics with the host's provider.
func (in *Instance) measure() error {
	provider := in.code.meters
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	meter := provider.Meter(meterName)
	var m instruments
	var all []metric.Observable
	counter := func(dst *metric.Int64ObservableCounter, name, unit, description string) (err error) {
		*dst, err = meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		all = append(all, *dst)
		return err
	}
	gauge := func(dst *metric.Int64ObservableGauge, name, unit, description string) (err error) {
		*dst, err = meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		all = append(all, *dst)
		return err
	}
	for _, err := range []error{
		counter(&m.rows, "contextgraph.recorder.rows", "{row}", "Rows that the journal took."),
		counter(&m.skipped, "contextgraph.recorder.rows_skipped", "{row}", "Rows that the configuration leaves out."),
		counter(&m.truncated, "contextgraph.recorder.rows_truncated", "{row}", "Rows that lost content to a limit."),
		counter(&m.redacted, "contextgraph.recorder.redactions", "{value}", "Values replaced because they are secret."),
		counter(&m.repaired, "contextgraph.recorder.repairs", "{value}", "Values replaced because JSON cannot hold them."),
		counter(&m.failures, "contextgraph.recorder.failures", "{failure}", "Failures while recording, by reason."),
		counter(&m.unguarded, "contextgraph.recorder.unguarded_tools", "{tool}", "Tools that the gate is meant to guard and cannot."),
		counter(&m.stored, "contextgraph.journal.rows_stored", "{row}", "Rows committed."),
		counter(&m.lost, "contextgraph.journal.rows_lost", "{row}", "Rows lost, by reason."),
		counter(&m.removed, "contextgraph.journal.rows_removed", "{row}", "Rows removed by retention."),
		gauge(&m.queuedRows, "contextgraph.journal.queue_rows", "{row}", "Rows that wait to be committed."),
		gauge(&m.queuedBytes, "contextgraph.journal.queue_bytes", "By", "Memory of the rows that wait to be committed."),
		gauge(&m.heldSessions, "contextgraph.journal.held_sessions", "{session}", "Sessions that retention keeps because they are not replicated."),
		gauge(&m.failing, "contextgraph.journal.failing", "1", "1 while commits fail, else 0."),
		counter(&m.partsStored, "contextgraph.parts.stored", "{part}", "Large and binary parts stored outside of the rows."),
		counter(&m.partsLost, "contextgraph.parts.lost", "{part}", "Parts that were not stored, by reason."),
		counter(&m.replicated, "contextgraph.warehouse.rows", "{row}", "Rows that BigQuery acknowledged."),
		counter(&m.replicatedBytes, "contextgraph.warehouse.bytes", "By", "Encoded size of the rows that BigQuery acknowledged."),
		counter(&m.retries, "contextgraph.warehouse.retries", "{request}", "Requests that were sent to BigQuery again."),
		counter(&m.partsUnread, "contextgraph.warehouse.parts_lost", "{row}", "Rows sent without their content_parts, which are not as the schema says."),
		counter(&m.graphs, "contextgraph.warehouse.graph_syncs", "{session}", "Attempts to bring the graph of a session to BigQuery, by outcome."),
		counter(&m.graphsGivenUp, "contextgraph.warehouse.graphs_given_up", "{session}", "Sessions whose graph was not brought to BigQuery and is not tried again."),
		gauge(&m.lagRows, "contextgraph.warehouse.lag_rows", "{row}", "Rows of the journal that BigQuery has not acknowledged."),
		gauge(&m.deadLetters, "contextgraph.warehouse.dead_letters", "{row}", "Rows that BigQuery refused and that wait for a decision."),
		gauge(&m.streamFailing, "contextgraph.warehouse.failing", "1", "1 while streaming to BigQuery fails, else 0."),
		gauge(&m.graphsPending, "contextgraph.warehouse.graphs_pending", "{session}", "Sessions whose graph waits to be brought to BigQuery."),
		func() (err error) {
			m.lag, err = meter.Float64ObservableGauge("contextgraph.warehouse.lag", metric.WithUnit("s"),
				metric.WithDescription("Age of the oldest row that BigQuery has not acknowledged."))
			all = append(all, m.lag)
			return err
		}(),
	} {
		if err != nil {
			return fmt.Errorf("contextgraph: metrics: %w", err)
		}
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.observe(o, in.counters())
		return nil
	}, all...)
	if err != nil {
		return fmt.Errorf("contextgraph: metrics: %w", err)
	}
	in.registration = registration
	return nil
}

func (m *instruments) observe(o metric.Observer, s counters) {
	reason := func(r string) metric.ObserveOption { return metric.WithAttributes(reasonKey.String(r)) }
	o.ObserveInt64(m.rows, int64(s.recorder.Rows))
	o.ObserveInt64(m.skipped, int64(s.recorder.Skipped))
	o.ObserveInt64(m.truncated, int64(s.recorder.Truncated))
	o.ObserveInt64(m.redacted, int64(s.recorder.Redacted))
	o.ObserveInt64(m.repaired, int64(s.recorder.Repaired))
	o.ObserveInt64(m.failures, int64(s.recorder.Panics+s.gate.Panics), reason("panic"))
	o.ObserveInt64(m.failures, int64(s.recorder.FormatterFailed), reason("formatter"))
	o.ObserveInt64(m.failures, int64(s.recorder.ClassifierFailed), reason("classifier"))
	o.ObserveInt64(m.unguarded, int64(s.gate.Unguarded))
	o.ObserveInt64(m.stored, int64(s.journal.Stored))
	for r, n := range s.journal.Lost {
		o.ObserveInt64(m.lost, int64(n), reason(string(r)))
	}
	o.ObserveInt64(m.removed, int64(s.journal.RemovedRows))
	o.ObserveInt64(m.queuedRows, int64(s.journal.QueuedRows))
	o.ObserveInt64(m.queuedBytes, s.journal.QueuedBytes)
	o.ObserveInt64(m.heldSessions, int64(s.journal.HeldSessions))
	failing := int64(0)
	if s.journal.LastError != nil {
		failing = 1
	}
	o.ObserveInt64(m.failing, failing)
	if s.warehouse.Enabled {
		m.observeWarehouse(o, s.warehouse)
	}
	o.ObserveInt64(m.partsStored, int64(s.parts.Stored))
	for r, n := range s.parts.Lost {
		o.ObserveInt64(m.partsLost, int64(n), reason(string(r)))
	}
	for r, n := range s.parts.Refused {
		o.ObserveInt64(m.partsLost, int64(n), reason(string(r)))
	}
}

func (m *instruments) observeWarehouse(o metric.Observer, s warehouse.Status) {
	outcome := func(v string) metric.ObserveOption { return metric.WithAttributes(outcomeKey.String(v)) }
	o.ObserveInt64(m.replicated, int64(s.Acknowledged))
	o.ObserveInt64(m.replicatedBytes, int64(s.Bytes))
	o.ObserveInt64(m.retries, int64(s.Retries))
	o.ObserveInt64(m.partsUnread, int64(s.PartsLost))
	o.ObserveInt64(m.graphs, int64(s.GraphSyncs), outcome("ok"))
	o.ObserveInt64(m.graphs, int64(s.GraphErrors), outcome("error"))
	o.ObserveInt64(m.graphsGivenUp, int64(s.GraphGivenUp))
	o.ObserveInt64(m.lagRows, s.LagRows)
	o.ObserveFloat64(m.lag, s.LagSeconds)
	o.ObserveInt64(m.deadLetters, s.DeadLetters)
	o.ObserveInt64(m.graphsPending, int64(s.GraphPending))
	failing := int64(0)
	if s.LastError != nil {
		failing = 1
	}
	o.ObserveInt64(m.streamFailing, failing)
}
