// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Callbacks may change what the model gets. What it got counts.
func TestReadsWhatCallbacksLeave(t *testing.T) {
	drop := func(change func(*genai.Part) *genai.Part) llmagent.BeforeModelCallback {
		return func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			for _, c := range req.Contents {
				var parts []*genai.Part
				for _, p := range c.Parts {
					if p = change(p); p != nil {
						parts = append(parts, p)
					}
				}
				c.Parts = parts
			}
			return nil, nil
		}
	}
	dropped := 0
	for name, tt := range map[string]struct {
		change    func(*genai.Part) *genai.Part
		want      []string
		unmatched int
	}{
		"nothing": {func(p *genai.Part) *genai.Part { return p }, []string{`{"price":40000}`, `{"price":52000}`}, 0},
		"drops one": {func(p *genai.Part) *genai.Part {
			if fr := p.FunctionResponse; fr != nil && fmt.Sprint(fr.Response["price"]) == "52000" {
				dropped++
				return nil
			}
			return p
		}, []string{`{"price":40000}`}, 0},
		"rewrites one": {func(p *genai.Part) *genai.Part {
			if fr := p.FunctionResponse; fr != nil && fmt.Sprint(fr.Response["price"]) == "52000" {
				return &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: fr.Name, ID: fr.ID, Response: m{"price": 1}}}
			}
			return p
		}, []string{`{"price":40000}`}, 1},
		"drops all calls and one result": {func(p *genai.Part) *genai.Part {
			if p.FunctionCall != nil {
				return nil
			}
			return p
		}, []string{`{"price":40000}`, `{"price":52000}`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(adktest.Calls(call("", "search", m{"q": 1}), call("", "search", m{"q": 2})), adktest.Text("done"))
			root := llm(t, llmagent.Config{
				Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000, 52000)},
				BeforeModelCallbacks: []llmagent.BeforeModelCallback{drop(tt.change)},
			})
			sink, r := recorded(t, recorder.Config{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rs := readingsOf(t, sink.Rows())
			diff(t, "what the model had read", tt.want, rs.calls(t, 1))
			if n := rs.unmatched(t, 1); n != tt.unmatched {
				t.Errorf("%d results unmatched, want %d", n, tt.unmatched)
			}
		})
	}
}

// Where calls with different arguments have one result and the request holds it once, only
// the call that stands in the request was read; if both do, nobody can tell.
func TestReadsOfEqualResults(t *testing.T) {
	keep := func(call string, both bool) llmagent.BeforeModelCallback {
		return func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			results := 0
			for _, c := range req.Contents {
				c.Parts = slices.DeleteFunc(c.Parts, func(p *genai.Part) bool {
					if p.FunctionResponse != nil {
						results++
						return results > 1
					}
					return p.FunctionCall != nil && !both && p.FunctionCall.Args["q"] != call
				})
			}
			return nil, nil
		}
	}
	for name, tt := range map[string]struct {
		both      bool
		want      int
		unmatched int
	}{"one call": {false, 1, 0}, "both calls": {true, 0, 1}} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(adktest.Calls(call("", "search", m{"q": "a"}), call("", "search", m{"q": "b"})), adktest.Text("done"))
			root := llm(t, llmagent.Config{
				Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)},
				BeforeModelCallbacks: []llmagent.BeforeModelCallback{keep("b", tt.both)},
			})
			sink, r := recorded(t, recorder.Config{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rs := readingsOf(t, sink.Rows())
			results, _ := rowtest.Attribute(t, rs.rows[rs.order[1]], "adk", "read", "results").(map[string]any)
			if len(results) != tt.want || rs.unmatched(t, 1) != tt.unmatched {
				t.Errorf("read %d results with %d unmatched, want %d and %d", len(results), rs.unmatched(t, 1), tt.want, tt.unmatched)
			}
			for id := range results {
				for _, e := range sink.Of(record.ToolStarting) {
					if rowtest.Attribute(t, e, "adk", "call_id") == id && !strings.Contains(string(e.Content), `"b"`) {
						t.Errorf("read the result of %s", e.Content)
					}
				}
			}
		})
	}
}

// A result that a callback behind the recorder changes is told of.
func TestRewrittenResults(t *testing.T) {
	mask := func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
		return m{"price": "hidden"}, nil
	}
	same := func(_ agent.Context, _ tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
		return m{"price": 4e4}, err
	}
	for name, tt := range map[string]struct {
		callback llmagent.AfterToolCallback
		other    *plugin.Plugin
		rows     int
	}{
		"an agent's callback": {callback: mask, rows: 2},
		"another plugin":      {other: refusing(t, plugin.Config{Name: "mask", AfterToolCallback: mask}), rows: 2},
		"the same value":      {callback: same},
		"none":                {},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(adktest.Calls(call("c1", "search", nil), call("c1", "search", nil)), adktest.Text("done"))
			cfg := llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}}
			if tt.callback != nil {
				cfg.AfterToolCallbacks = []llmagent.AfterToolCallback{tt.callback}
			}
			var others []*plugin.Plugin
			if tt.other != nil {
				others = append(others, tt.other)
			}
			_, sink, r := recordedBeside(t, recorder.Config{}, llm(t, cfg), others...)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rows := sink.Of(record.ToolResultRewritten)
			if len(rows) != tt.rows {
				t.Fatalf("%d rows, want %d", len(rows), tt.rows)
			}
			ends := byID(sink.Of(record.ToolCompleted))
			seen := make(map[string]bool)
			want := jsonenc.NewWriter(jsonenc.Limits{}, nil).Digest(m{"price": "hidden"}).String()
			for _, e := range rows {
				of, _ := rowtest.Attribute(t, e, "adk", "of").(string)
				if ends[of].EventID == "" || seen[of] || ends[of].SpanID != e.SpanID {
					t.Errorf("the row is of %q", of)
				}
				seen[of] = true
				if got := rowtest.Attribute(t, e, "adk", "result"); got != want || rowtest.Attribute(t, e, "adk", "call_id") != "c1" || string(e.Content) != `{"tool":"search"}` {
					t.Errorf("digest %v, want %s; content %s", got, want, e.Content)
				}
			}
		})
	}
}

// The row that ends a call names the row that began it.
func TestEndsNameTheirBeginning(t *testing.T) {
	mdl := adktest.Script(adktest.Calls(call("", "search", nil), call("", "fail", nil), call("", "nowhere", nil)), adktest.Text("done"))
	fail := functionTool(t, functiontool.Config{Name: "fail", Description: "fails"}, func(agent.Context, m) (map[string]any, error) { return nil, fmt.Errorf("no") })
	sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, prices(t, "search", 40000), fail))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	starts := byID(sink.Of(record.ToolStarting))
	for _, e := range append(sink.Of(record.ToolCompleted), sink.Of(record.ToolError)...) {
		started, _ := rowtest.Attribute(t, e, "adk", "started").(string)
		if starts[started].SpanID != e.SpanID {
			t.Errorf("%s began with %q", e.Content, started)
		}
	}
	rs := readingsOf(t, sink.Rows())
	if n := len(rs.read(t, rs.order[1], make(map[string]bool))); n != 3 || rs.unmatched(t, 1) != 0 {
		t.Errorf("the model had read %d results, want all three", n)
	}
	if rows := sink.Of(record.ToolResultRewritten); len(rows) != 0 {
		t.Errorf("%d results count as rewritten", len(rows))
	}
}
