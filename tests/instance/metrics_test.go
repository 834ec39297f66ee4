// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package instance_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// metered returns a reader of the metrics and the option that provides them.
func metered(t *testing.T) (sdkmetric.Reader, cgtest.Option) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return reader, func(o *cgtest.Options) { o.Config.MeterProvider = provider }
}

// points returns the values of the metrics by name, reason and outcome.
func points(t *testing.T, r sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			var data []metricdata.DataPoint[int64]
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				data = d.DataPoints
			case metricdata.Gauge[int64]:
				data = d.DataPoints
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					data = append(data, metricdata.DataPoint[int64]{Attributes: p.Attributes, Value: int64(p.Value)})
				}
			}
			for _, p := range data {
				name := m.Name
				for _, key := range []attribute.Key{"reason", "outcome"} {
					if v, ok := p.Attributes.Value(key); ok {
						name += "/" + v.AsString()
					}
				}
				got[name] = p.Value
			}
		}
	}
	return got
}

func TestMetrics(t *testing.T) {
	reader, provide := metered(t)
	h := cgtest.New(t, cgtest.OnFile, provide, func(o *cgtest.Options) { o.Config.Guard.Tools = config.Tools("bye") })
	if err := h.CG.CheckTools(t.Context(), h.Tools); err != nil { // none is named bye
		t.Fatal(err)
	}
	h.Ask(cgtest.SessionID)
	rows := int64(len(h.Rows(cgtest.SessionID)))

	got := points(t, reader)
	want := map[string]int64{
		"contextgraph.recorder.rows": rows, "contextgraph.recorder.rows_skipped": 0,
		"contextgraph.recorder.rows_truncated": 0, "contextgraph.recorder.redactions": 0, "contextgraph.recorder.repairs": 0,
		"contextgraph.recorder.failures/panic": 0, "contextgraph.recorder.failures/formatter": 0, "contextgraph.recorder.failures/classifier": 0,
		"contextgraph.recorder.unguarded_tools": 1,
		"contextgraph.journal.rows_stored":      rows, "contextgraph.journal.rows_removed": 0,
		"contextgraph.journal.queue_rows": 0, "contextgraph.journal.queue_bytes": 0, "contextgraph.journal.failing": 0, "contextgraph.journal.held_sessions": 0,
		"contextgraph.parts.stored": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}

	// What comes after Close is counted, and the metrics end with the Instance.
	if err := h.CG.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, "late", adktest.UserText("buy a route")); err != nil {
		t.Fatal(err)
	}
	s := h.CG.Stats()
	if s.Recorder.Refused == 0 || s.Recorder.Refused != s.Journal.Lost["closed"] {
		t.Errorf("after Close %d rows were refused, %d counted as late", s.Recorder.Refused, s.Journal.Lost["closed"])
	}
	if left := slices.Sorted(maps.Keys(points(t, reader))); len(left) != 0 {
		t.Errorf("metrics after Close: %v", left)
	}
	if err := (contextgraph.Stats{}).Check(); err != nil {
		t.Errorf("the zero Stats: %v", err)
	}
	s.Recorder.Rows++
	if s.Check() == nil {
		t.Error("Check finds nothing wrong with a row that vanished")
	}
}
