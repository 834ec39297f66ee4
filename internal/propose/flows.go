// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package propose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// flow is a flow of package flowtest, with the keys that a draft has.
type flow struct {
	About  string         `yaml:"about"`
	World  map[string]any `yaml:"world"`
	Tools  map[string]any `yaml:"tools"`
	Steps  []any          `yaml:"steps"`
	Expect string         `yaml:"expect"`
}

type turn struct {
	User   string           `yaml:"user,omitempty"`
	Answer string           `yaml:"answer,omitempty"`
	Model  []map[string]any `yaml:"model,omitempty"`
}

// Flows returns two flows made of the rows of a session up to its first call of a guarded tool: one
// in which nothing changes, and one in which a thing of that call changes before the answer. The
// latter is nil if the call names nothing that the rules of x have read.
func Flows(rows []record.Event, guarded []string, x *graphsync.Extractor) (unchanged, changed []byte, err error) {
	d := newDraft(guarded)
	d.read(rows)
	last := slices.IndexFunc(d.calls, func(c call) bool { return slices.Contains(guarded, c.tool) })
	if last < 0 {
		return nil, nil, errors.New("the session has no call of a guarded tool, so there is nothing to try: take a session in which an approval was asked")
	}
	rows = rows[:d.calls[last].row]
	found := graphsync.Fold(x, rows).Graph().Entities()
	f := flow{
		About: "nothing changes between the request and the answer", World: worldOf(found), Tools: toolsOf(d.calls[:last+1], guarded, rows, found),
		Steps: []any{turn{User: "Do it.", Model: movesOf(d.calls[:last+1])}, turn{Answer: "yes"}}, Expect: "executed safe",
	}
	if unchanged, err = yaml.Marshal(f); err != nil {
		return nil, nil, err
	}
	change, words := changeOf(found, d.calls[last])
	if change == nil {
		return unchanged, nil, nil
	}
	f.About, f.Expect = words+" before the answer", "blocked drift"
	f.Steps = []any{f.Steps[0], map[string]any{"world": change}, f.Steps[1]}
	changed, err = yaml.Marshal(f)
	return unchanged, changed, err
}

// worldOf returns what the session saw last of each thing: the answers of its sources.
func worldOf(found []entity.Entity) map[string]any {
	w := make(map[string]any)
	for _, e := range found {
		things, _ := w[e.Type].(map[string]any)
		if things == nil {
			things = make(map[string]any)
			w[e.Type] = things
		}
		thing, _ := things[e.Value].(map[string]any)
		if thing == nil {
			thing = make(map[string]any)
			things[e.Value] = thing
		}
		for name, v := range e.Attributes {
			thing[name] = written(v)
		}
	}
	return w
}

// written returns a value as a flow writes it.
func written(v entity.Value) any {
	switch v.Kind() {
	case entity.KindBool:
		return v.String() == "true"
	case entity.KindNumber:
		return yamlNumber(json.Number(v.String()))
	case entity.KindSet:
		list, _ := v.AsSet()
		return numbered(list)
	}
	return v.String()
}

func yamlNumber(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return n.String()
}

// toolsOf returns the tools as tables of what they answered, with the entities that they declared.
func toolsOf(calls []call, guarded []string, rows []record.Event, found []entity.Entity) map[string]any {
	tools := make(map[string]any)
	for _, c := range calls {
		if slices.Contains(guarded, c.tool) {
			tools[c.tool] = map[string]any{"result": map[string]any{"status": "done"}}
			continue
		}
		t, _ := tools[c.tool].(map[string]any)
		if t == nil {
			t = make(map[string]any)
			tools[c.tool] = t
		}
		cases, _ := t["cases"].([]any)
		t["cases"] = append(cases, map[string]any{"args": numbered(c.args), "result": numbered(c.result)})
	}
	for _, e := range found {
		at := slices.IndexFunc(rows, func(r record.Event) bool { return r.EventID == e.EventID })
		if e.Source != entity.SourceDeclared || at < 0 {
			continue
		}
		t, _ := tools[toolOf(rows, at)].(map[string]any)
		if t == nil {
			continue
		}
		attributes := make(map[string]any)
		for name, v := range e.Attributes {
			attributes[name] = written(v)
		}
		declares, _ := t["declares"].([]any)
		t["declares"] = append(declares, map[string]any{"type": e.Type, "value": e.Value, "attributes": attributes})
	}
	return tools
}

// toolOf returns the tool in the call of which a row was written.
func toolOf(rows []record.Event, at int) string {
	for _, r := range rows {
		var content struct {
			Tool string `json:"tool"`
		}
		if r.EventType == record.ToolStarting && r.SpanID == rows[at].SpanID && json.Unmarshal(r.Content, &content) == nil {
			return content.Tool
		}
	}
	return ""
}

func movesOf(calls []call) (moves []map[string]any) {
	for _, c := range calls {
		args := numbered(c.args)
		if args == nil {
			args = map[string]any{}
		}
		moves = append(moves, map[string]any{c.tool: args})
	}
	return moves
}

// numbered returns decoded JSON with numbers as YAML writes them.
func numbered(v any) any {
	switch v := v.(type) {
	case json.Number:
		return yamlNumber(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = numbered(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = numbered(value)
		}
		return out
	}
	return v
}

// changeOf returns a change of the world by which a thing that the call names changes, and says it.
func changeOf(found []entity.Entity, c call) (change map[string]any, words string) {
	args, _ := json.Marshal(c.args)
	for _, e := range found {
		name, _ := json.Marshal(e.Value)
		if !strings.Contains(string(args), string(name)) {
			continue
		}
		for _, attribute := range slices.Sorted(maps.Keys(e.Attributes)) {
			if slices.Contains(e.Echoes, attribute) {
				continue
			}
			v := e.Attributes[attribute]
			return map[string]any{e.Type: map[string]any{e.Value: map[string]any{attribute: otherThan(v)}}},
				fmt.Sprintf("%s of %s changes", attribute, e.Value)
		}
	}
	return nil, ""
}

// otherThan returns a value of the same kind that is not v.
func otherThan(v entity.Value) any {
	switch v.Kind() {
	case entity.KindBool:
		return v.String() != "true"
	case entity.KindNumber:
		return 987654321
	case entity.KindMoney:
		return strings.TrimSpace("987654321 " + v.Currency())
	case entity.KindTime:
		return "2001-01-01T00:00:00Z"
	case entity.KindSet:
		return []any{"changed"}
	}
	return "changed"
}
