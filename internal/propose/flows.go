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
	About  string           `yaml:"about"`
	World  world            `yaml:"world"`
	Tools  map[string]*tool `yaml:"tools"`
	Steps  []any            `yaml:"steps"`
	Expect string           `yaml:"expect"`
}

// world has the attributes of things, by type and value.
type world map[string]map[string]map[string]any

// tool is a tool as a table of what it answered, with the entities that it declared.
type tool struct {
	Result   map[string]string `yaml:"result,omitempty"`
	Cases    []map[string]any  `yaml:"cases,omitempty"`
	Declares []map[string]any  `yaml:"declares,omitempty"`
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
func worldOf(found []entity.Entity) world {
	w := make(world)
	for _, e := range found {
		if w[e.Type] == nil {
			w[e.Type] = make(map[string]map[string]any)
		}
		if w[e.Type][e.Value] == nil {
			w[e.Type][e.Value] = make(map[string]any)
		}
		maps.Copy(w[e.Type][e.Value], written(e))
	}
	return w
}

// written returns the attributes of a thing as a flow writes them.
func written(e entity.Entity) map[string]any {
	out := make(map[string]any)
	for name, v := range e.Attributes {
		switch v.Kind() {
		case entity.KindBool:
			out[name] = v.String() == "true"
		case entity.KindNumber:
			out[name] = plainly(json.Number(v.String()))
		case entity.KindSet:
			list, _ := v.AsSet()
			out[name] = plainly(list)
		default:
			out[name] = v.String()
		}
	}
	return out
}

// plainly returns decoded JSON with its numbers as YAML has them. JSON is YAML.
func plainly(v any) (out any) {
	text, _ := json.Marshal(v)
	_ = yaml.Unmarshal(text, &out) // nil for what no YAML can hold
	return out
}

// toolsOf returns the tools of the calls.
func toolsOf(calls []call, guarded []string, rows []record.Event, found []entity.Entity) map[string]*tool {
	tools, called := make(map[string]*tool), make(map[string]string)
	for _, c := range calls {
		if c.row < len(rows) {
			called[rows[c.row].SpanID] = c.tool
		}
		if tools[c.tool] == nil {
			tools[c.tool] = new(tool)
		}
		if t := tools[c.tool]; slices.Contains(guarded, c.tool) {
			t.Result = map[string]string{"status": "done"}
		} else {
			t.Cases = append(t.Cases, map[string]any{"args": plainly(c.args), "result": plainly(c.result)})
		}
	}
	for _, e := range found {
		at := slices.IndexFunc(rows, func(r record.Event) bool { return r.EventID == e.EventID })
		if e.Source != entity.SourceDeclared || at < 0 {
			continue
		}
		if t := tools[called[rows[at].SpanID]]; t != nil {
			t.Declares = append(t.Declares, map[string]any{"type": e.Type, "value": e.Value, "attributes": written(e)})
		}
	}
	return tools
}

func movesOf(calls []call) (moves []map[string]any) {
	for _, c := range calls {
		args := plainly(c.args)
		if args == nil {
			args = map[string]any{}
		}
		moves = append(moves, map[string]any{c.tool: args})
	}
	return moves
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
