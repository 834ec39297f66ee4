// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// An entity is what a check asks the world about: one that the limits of a row would
// change must not pass for what the tool declared.
func TestRecordEntityWithinTheLimits(t *testing.T) {
	many := make(map[string]entity.Value)
	for _, name := range "abcdefghijklmnop" {
		many[string(name)] = entity.Text(strings.Repeat("x", 1000))
	}
	for _, tt := range []struct {
		name   string
		limits config.Record
		e      entity.Entity
		fits   bool
	}{
		{"small", config.Record{MaxString: 100}, entity.Entity{Type: "Product", Value: "banner"}, true},
		{"long value", config.Record{MaxString: 100}, entity.Entity{Type: "Product", Value: strings.Repeat("v", 200)}, false},
		{"long attribute", config.Record{MaxString: 100}, entity.Entity{Type: "Product", Value: "banner", Attributes: map[string]entity.Value{"note": entity.Text(strings.Repeat("n", 200))}}, false},
		{"many attributes", config.Record{MaxRow: 10_000}, entity.Entity{Type: "Product", Value: "banner", Attributes: many}, false},
		{"many attributes in a large row", config.Record{}, entity.Entity{Type: "Product", Value: "banner", Attributes: many}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, row, declared := declare(t, recorder.Config{Record: tt.limits}, tt.e)
			if tt.fits != (declared == nil) {
				t.Fatalf("RecordEntity: %v, want it to succeed: %v", declared, tt.fits)
			}
			if declared != nil && !strings.Contains(declared.Error(), "record.max_string") {
				t.Errorf("error %q names no remedy", declared)
			}
			if tt.fits != (row != nil) {
				t.Errorf("a row with the entity: %v, want %v", row != nil, tt.fits)
			}
		})
	}
}

// declare runs a tool that declares es at once, and returns what RecordEntity said and the row with
// them, nil for none.
func declare(t *testing.T, cfg recorder.Config, es ...entity.Entity) (*recorder.Recorder, *record.Event, error) {
	t.Helper()
	sink := &rowtest.Sink{}
	cfg.Sink = sink
	declared := errors.New("the tool did not run")
	rec := inWork(t, cfg, func(rec *recorder.Recorder, ctx agent.Context) { declared = rec.RecordEntity(ctx, es...) })
	switch rows := sink.Of(record.EntitiesDeclared); len(rows) {
	case 0:
		return rec, nil, declared
	case 1:
		return rec, &rows[0], declared
	default:
		t.Fatalf("%d rows with entities, want 1 at most", len(rows))
		return nil, nil, nil
	}
}

// inWork runs f in a tool of a run.
func inWork(t *testing.T, cfg recorder.Config, f func(*recorder.Recorder, agent.Context)) *recorder.Recorder {
	t.Helper()
	var rec *recorder.Recorder
	tl := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		f(rec, ctx)
		return map[string]any{"ok": true}, nil
	})
	rec, r := recorderAndRunner(t, cfg, llmagent.Config{
		Model: adktest.CallsOnce(&genai.FunctionCall{ID: "c1", Name: "work"}), Tools: []tool.Tool{tl},
	})
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	return rec
}

// What is declared at once stands in one row, all of it or nothing.
func TestRecordEntitiesAtOnce(t *testing.T) {
	thing := func(value string) entity.Entity { return entity.Entity{Type: "Product", Value: value} }
	secret := thing("b")
	secret.Attributes = map[string]entity.Value{"api_key": entity.Text("k")}
	for name, tt := range map[string]struct {
		es   []entity.Entity
		want []any
		err  string
	}{
		"none": {nil, nil, "no entity is given"},
		"two": {[]entity.Entity{thing("a"), {Type: "Region", Value: "b", Confidence: 0.5}}, []any{
			map[string]any{"type": "Product", "value": "a", "confidence": 1.0}, map[string]any{"type": "Region", "value": "b", "confidence": 0.5},
		}, ""},
		"one is empty":        {[]entity.Entity{thing("a"), thing("")}, nil, "entity 2 of 2: entity value is empty"},
		"one has a secret":    {[]entity.Entity{thing("a"), secret}, nil, `entity 2 of 2: attribute "api_key" names a secret`},
		"one is too large":    {[]entity.Entity{thing("a"), thing(strings.Repeat("v", 900))}, nil, "entity 2 of 2: a Product is larger than the limits of a row"},
		"all are too large":   {large(300), nil, "more than 128 KiB"},
		"almost too large":    {large(200), nil, ""},
		"the name of a thing": {[]entity.Entity{thing("a,b"), thing(`"`)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, row, err := declare(t, recorder.Config{Record: config.Record{MaxString: 800}}, tt.es...)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("RecordEntity: %v, want an error with %q", err, tt.err)
			}
			if (row != nil) != (tt.err == "") {
				t.Fatalf("a row with entities: %v", row != nil)
			}
			if row == nil {
				return
			}
			got, _ := rowtest.Attribute(t, *row, "entities").([]any)
			if len(got) != len(tt.es) {
				t.Errorf("%d entities in the row, want %d", len(got), len(tt.es))
			}
			if diff := cmp.Diff(tt.want, got); tt.want != nil && diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
		})
	}
}

// large returns entities of more than 500 bytes each.
func large(n int) (es []entity.Entity) {
	for i := range n {
		es = append(es, entity.Entity{Type: "Product", Value: fmt.Sprint(i), ArtifactURI: strings.Repeat("x", 500)})
	}
	return es
}

// A call may declare more than once, up to the bound. What the sink does not take does not count.
func TestRecordEntityAgain(t *testing.T) {
	sink := &choosy{}
	var errs []error
	inWork(t, recorder.Config{Sink: sink}, func(rec *recorder.Recorder, ctx agent.Context) {
		for _, refused := range []string{"", record.EntitiesDeclared, "", ""} {
			sink.refused = refused
			errs = append(errs, rec.RecordEntity(ctx, large(100)...))
		}
		sink.refused, sink.lost = "", errors.New("the disk is full")
		errs = append(errs, rec.RecordEntity(ctx, entity.Entity{Type: "Product", Value: "b"}))
	})
	var got []string
	for _, err := range errs {
		got = append(got, fmt.Sprint(err))
	}
	want := []string{"<nil>", "not on record: the journal did not take the row", "<nil>", "more than 128 KiB", "not on record: the disk is full"}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("RecordEntity: %q, want %q", got, want)
	}
	if types := sink.Types(); !slices.Contains(types, record.ToolCompleted) || len(sink.Of(record.EntitiesDeclared)) != 3 {
		t.Errorf("rows %v", types)
	}
}

// choosy is a sink that refuses rows of a type, and that loses every row for a reason.
type choosy struct {
	rowtest.Sink
	refused string
	lost    error
}

func (c *choosy) Append(e record.Event) bool { return e.EventType != c.refused && c.Sink.Append(e) }

func (c *choosy) Commit(context.Context, string) error { return c.lost }

// The row stands on the span of the call, between the rows that begin and end it.
func TestRowOfEntities(t *testing.T) {
	sink := &rowtest.Sink{}
	declare := func() error { return nil }
	late := func() {
		if err := declare(); !errors.Is(err, recorder.ErrNoCall) {
			t.Errorf("after the end of the call: %v, want ErrNoCall", err)
		}
	}
	ending := recorder.Options{Classify: func(tool.Tool, map[string]any, map[string]any) error {
		late()
		return nil
	}}
	inWork(t, recorder.Config{Sink: sink, Options: ending}, func(rec *recorder.Recorder, ctx agent.Context) {
		declare = func() error { return rec.RecordEntity(ctx, entity.Entity{Type: "Product", Value: "a"}) }
		if err := declare(); err != nil {
			t.Error(err)
		}
	})
	late()
	start, declared, end := sink.Of(record.ToolStarting), sink.Of(record.EntitiesDeclared), sink.Of(record.ToolCompleted)
	if len(start) != 1 || len(declared) != 1 || len(end) != 1 {
		t.Fatalf("rows %v", sink.Types())
	}
	s, d := start[0], declared[0]
	if d.RunSeq != s.RunSeq+1 || d.RunSeq != end[0].RunSeq-1 {
		t.Errorf("the row is number %d of its run, between %d and %d", d.RunSeq, s.RunSeq, end[0].RunSeq)
	}
	if d.SpanID != s.SpanID || d.ParentSpanID != s.ParentSpanID || d.RunID != s.RunID || d.Agent != s.Agent {
		t.Errorf("row %+v of the call that %+v began", d, s)
	}
	if of, id := rowtest.Attribute(t, d, "adk", "of"), rowtest.Attribute(t, d, "adk", "call_id"); of != s.EventID || id != "c1" || string(d.Content) != `{"tool":"work"}` {
		t.Errorf("the row is of %v, call %v, with %s", of, id, d.Content)
	}
}

func TestRowOfEntitiesIsLeftOut(t *testing.T) {
	_, row, err := declare(t, recorder.Config{Record: config.Record{Deny: []string{record.EntitiesDeclared}}}, entity.Entity{Type: "Product", Value: "a"})
	if err != nil || row != nil {
		t.Errorf("row %v, %v", row, err)
	}
}

// A secret must not get on record because an entity has it.
func TestSecretsInEntities(t *testing.T) {
	const token = "AKIAIOSFODNN7EXAMPLE"
	for _, tt := range []struct {
		name     string
		redact   config.Redact
		e        entity.Entity
		redacted uint64
		err      string
	}{
		{"attribute by its name", config.Redact{}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"api_key": entity.Text(token)}}, 0, `"api_key"`},
		{"attribute by a configured name", config.Redact{Keys: []string{"badge"}}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"badge": entity.Text(token)}}, 0, `"badge"`},
		{"value by its form", config.Redact{}, entity.Entity{Type: "Account", Value: token}, 1, ""},
		{"value by a configured form", config.Redact{Patterns: []string{`acct-\d+`}}, entity.Entity{Type: "Account", Value: "acct-123"}, 1, ""},
		{"attribute by its form", config.Redact{}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"note": entity.Text(token)}}, 1, ""},
		{"none", config.Redact{}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"price": entity.Text("5")}}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, row, err := declare(t, recorder.Config{Record: config.Record{Redact: tt.redact}}, tt.e)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("RecordEntity: %v, want an error with %q", err, tt.err)
			}
			if row != nil && strings.Contains(string(row.Attributes), token) {
				t.Errorf("attributes %s hold the secret", row.Attributes)
			}
			if got := rec.Stats().Redacted; got != tt.redacted {
				t.Errorf("%d redactions counted, want %d", got, tt.redacted)
			}
		})
	}
}
