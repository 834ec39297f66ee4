// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// A guarded tool does not run with keys that it may take for one.
func TestKeysThatFoldAlike(t *testing.T) {
	for name, tt := range map[string]struct {
		args    m
		refused string
	}{
		"distinct":        {m{"stock": 1, "stocks": m{"a": 1, "b": []any{m{"c": 1}}}}, ""},
		"case":            {m{"stock": 1, "Stock": 2}, `"Stock" and "stock"`},
		"kelvin":          {m{"stock": 1, "stoc\u212a": 2}, `"stock" and "stoc\u212a"`},
		"long s":          {m{"size": 1, "\u017fize": 2}, `"size" and "\u017fize"`},
		"inside":          {m{"order": m{"lines": []any{m{"n": 1}, m{"n": 1, "N": 2}}}}, `"N" and "n"`},
		"other languages": {m{"straße": 1, "strasse": 2, "ı": 1, "i": 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(adktest.Calls(call("c1", "buy", tt.args)), adktest.Text("done"))
			_, g := newGate(recorder.Config{Sink: &rowtest.Sink{}}, gate.Config{Guard: unusedGuard(), Settings: config.Guard{Tools: config.Tools("buy")}})
			r := newRunner(asks("root", mdl, gives("buy", m{"price": 1})), plugins(g))
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			result := fmt.Sprint(adktest.Responses(events, "buy"))
			if got := strings.Contains(result, "which programs may take for one"); got != (tt.refused != "") || !strings.Contains(result, tt.refused) {
				t.Errorf("result %s, want a refusal that names %s", result, tt.refused)
			}
			if len(adktest.Confirmations(events)) != 0 && tt.refused != "" {
				t.Error("somebody was asked")
			}
		})
	}
}

// A tool that declares its arguments, and no others, gets no others. Texts that are JSON are read like the rest.
func TestUndeclaredArguments(t *testing.T) {
	properties := m{"item": m{"type": "string"}, "n": m{"type": "integer"}}
	for name, tt := range map[string]struct {
		schema  any
		args    m
		refused string
	}{
		"declared":                {m{"type": "object", "properties": properties}, m{"item": "x", "n": 1.0}, ""},
		"another":                 {m{"type": "object", "properties": properties}, m{"item": "x", "ITEMS": "y"}, `no argument "ITEMS"; those that it has are ["item" "n"]`},
		"no others, by its words": {m{"type": "object", "properties": properties, "additionalProperties": false}, m{"item": "x", "to": "y"}, `no argument "to"`},
		"others may come":         {m{"type": "object", "properties": properties, "additionalProperties": m{"type": "string"}}, m{"item": "x", "to": "y"}, ""},
		"others by a pattern":     {m{"type": "object", "properties": properties, "patternProperties": m{"^x-": m{}}}, m{"item": "x", "to": "y"}, ""},
		"one of several":          {m{"type": "object", "properties": properties, "anyOf": []any{m{}}}, m{"item": "x", "to": "y"}, ""},
		"by a reference":          {m{"$ref": "#/a", "properties": properties}, m{"item": "x", "to": "y"}, ""},
		"no schema":               {nil, m{"item": "x", "to": "y"}, ""},
		"an empty schema":         {m{"type": "object", "properties": m{}}, m{"item": "x"}, ""},
		"odd":                     {"string", m{"item": "x"}, ""},
		"text with a key twice":   {nil, m{"item": `{"a": 1, "a": 2}`}, `"a" stands twice`},
		"text with two cases":     {nil, m{"lines": []any{`{"a": 1, "A": 2}`}}, `"A" and "a"`},
		"a number too large":      {nil, m{"lines": []any{m{"n": 9007199254740992.0}}}, "$.lines[0].n: integer 9007199254740992 is too large to be exact in JSON; pass it as text"},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(adktest.Calls(call("c1", "buy", tt.args)), adktest.Text("done"))
			_, g := newGate(recorder.Config{Sink: &rowtest.Sink{}}, gate.Config{Guard: new(market).guard(), Settings: config.Guard{Tools: config.Tools("buy")}})
			r := newRunner(asks("root", mdl, withSchema{gives("buy", m{"price": 1}), tt.schema}), plugins(g))
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			result := fmt.Sprint(adktest.Responses(events, "buy"))
			if asked := len(adktest.Confirmations(events)); asked == 1 != (tt.refused == "") || !strings.Contains(result, tt.refused) {
				t.Errorf("%d requests, result %s, want a refusal that says %q", asked, result, tt.refused)
			}
		})
	}
}

// withSchema is a tool that declares another schema.
type withSchema struct {
	tool.Tool
	schema any
}

func (s withSchema) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: s.Name(), Description: s.Name(), ParametersJsonSchema: s.schema}
}

func (s withSchema) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, s)
}

func (s withSchema) Run(ctx agent.Context, args any) (map[string]any, error) {
	return s.Tool.(interface {
		Run(agent.Context, any) (map[string]any, error)
	}).Run(ctx, args)
}
