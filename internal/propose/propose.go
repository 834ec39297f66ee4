// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package propose drafts a configuration from recorded calls: rules for the entities in results and
// arguments, and checkers for their types. A draft is a beginning, for people to correct.
package propose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// attribute is a member of an object that becomes an attribute.
type attribute struct {
	Path     string `yaml:"path"`
	Type     string `yaml:"type,omitempty"` // "" for a text
	Currency string `yaml:"currency,omitempty"`
	Optional bool   `yaml:"optional,omitempty"` // some objects lack it
	LookedUp bool   `yaml:"looked_up,omitempty"`

	kind entity.Kind
	// echo: the arguments of the call have it too. moves: its name says that it changes by itself.
	echo, moves bool
}

func attributeOf(member string, kind entity.Kind, currency string) attribute {
	a := attribute{Path: "$" + step(member), kind: kind, Currency: currency}
	if kind != entity.KindText {
		a.Type = kind.String()
	}
	return a
}

// inAction is what a rule over the arguments of a call says.
const inAction = "action"

// rule is a rule of the draft.
type rule struct {
	Name         string               `yaml:"name"`
	Tool         string               `yaml:"tool"`
	In           string               `yaml:"in,omitempty"`
	Each         string               `yaml:"each,omitempty"`
	Type         string               `yaml:"type"`
	Value        string               `yaml:"value"`
	ValueType    string               `yaml:"value_type,omitempty"`
	Currency     string               `yaml:"currency,omitempty"`
	Alternatives bool                 `yaml:"alternatives,omitempty"`
	Attributes   map[string]attribute `yaml:"attributes,omitempty"`
	ArtifactURI  string               `yaml:"artifact_uri,omitempty"`
}

// call is one recorded call of a tool.
type call struct {
	tool         string
	args, result any
	row          int // that says so
}

// draft is a draft under way.
type draft struct {
	guarded []string
	calls   []call
	rules   []rule
	// declared are the types that tools declare, with their attributes.
	declared map[string]map[string]entity.Value
	// known are the entities met, by the text of their value.
	known map[string]entity.Entity
	// declares has the tools whose results show what a tool declares.
	declares map[string]bool
}

func newDraft(guarded []string) *draft {
	return &draft{guarded: guarded, declared: make(map[string]map[string]entity.Value), known: make(map[string]entity.Entity), declares: make(map[string]bool)}
}

// From returns a draft as YAML, from the rows of a session. guarded are the tools that asked for
// approvals there.
func From(rows []record.Event, guarded []string) []byte {
	d := newDraft(guarded)
	for _, e := range graphsync.Fold(nil, rows).Graph().Entities() {
		if d.declared[e.Type] == nil {
			d.declared[e.Type] = make(map[string]entity.Value)
		}
		maps.Copy(d.declared[e.Type], e.Attributes)
		d.known[e.Value] = e
	}
	d.read(rows)
	for _, c := range d.calls {
		if !slices.Contains(guarded, c.tool) {
			d.object(c, "$", c.result, noun(c.tool), nil)
		}
	}
	for _, c := range d.calls {
		if slices.Contains(guarded, c.tool) {
			d.action(c)
		}
	}
	for i := range d.rules {
		r := &d.rules[i]
		chosen := slices.ContainsFunc(d.rules, func(o rule) bool { return o.In == inAction && o.Type == r.Type })
		r.Alternatives = r.In == "" && strings.HasSuffix(r.Each, "[*]") && chosen
	}
	return d.yaml()
}

// read takes the calls from the rows.
func (d *draft) read(rows []record.Event) {
	args := make(map[string]any)
	for i := range rows {
		e := &rows[i]
		var content struct {
			Tool   string          `json:"tool"`
			Origin string          `json:"tool_origin"`
			Args   json.RawMessage `json:"args"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(e.Content, &content) != nil || content.Origin != "LOCAL" && content.Origin != "MCP" && content.Origin != "" {
			continue
		}
		switch {
		case e.EventType == record.ToolStarting:
			args[e.SpanID] = decode(content.Args)
			if slices.Contains(d.guarded, content.Tool) {
				d.calls = append(d.calls, call{tool: content.Tool, args: args[e.SpanID], row: i})
			}
		case e.EventType == record.ToolCompleted && e.Status != record.StatusError && !slices.Contains(d.guarded, content.Tool):
			d.calls = append(d.calls, call{tool: content.Tool, args: args[e.SpanID], result: decode(content.Result), row: i})
		}
	}
}

func decode(raw []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	_ = dec.Decode(&v) // nil then
	return v
}

// deepest bounds how deep in a result objects are looked for.
const deepest = 4

// object drafts a rule for the object at path, and for the objects and lists inside.
func (d *draft) object(c call, path string, v any, name string, around []map[string]any) {
	o, ok := v.(map[string]any)
	if list, isList := v.([]any); isList && path == "$" {
		d.list(c, "$", list, name, around)
	}
	if !ok || len(around) > deepest {
		return
	}
	if _, failed := o["error"]; failed && len(o) == 1 {
		return
	}
	if typ, member := named(o, name); member != "" {
		d.rule(c, path, typ, member, []map[string]any{o}, around)
	}
	around = append(around[:len(around):len(around)], o)
	for _, key := range slices.Sorted(maps.Keys(o)) {
		switch inner := o[key].(type) {
		case map[string]any:
			d.object(c, path+step(key), inner, key, around)
		case []any:
			d.list(c, path+step(key), inner, key, around)
		}
	}
}

// list drafts a rule for the objects in a list.
func (d *draft) list(c call, path string, list []any, name string, around []map[string]any) {
	var objects []map[string]any
	for _, v := range list {
		if o, ok := v.(map[string]any); ok {
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 || len(objects) != len(list) {
		return
	}
	if typ, member := named(objects[0], name); member != "" {
		d.rule(c, path+"[*]", typ, member, objects, around)
	}
}

// names are members that name an object, the surest first.
var names = []string{"name", "id", "title", "sku", "slug", "key", "code"}

// named returns the type of an object, and the member that names it; "" if none does. name is where
// the object stands: a member, or the noun of a tool.
func named(o map[string]any, name string) (typ, member string) {
	single := singular(name)
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if scalar(o[key]) && (strings.EqualFold(key, single+"_id") || strings.EqualFold(key, single)) {
			return title(single), key
		}
	}
	for _, key := range names {
		if scalar(o[key]) {
			return title(single), key
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		for _, suffix := range []string{"_id", "_name"} {
			if of, ok := strings.CutSuffix(key, suffix); ok && of != "" && scalar(o[key]) {
				return title(of), key
			}
		}
	}
	return "", ""
}

// rule drafts a rule for objects, unless a tool declares them.
func (d *draft) rule(c call, each, typ, member string, objects, around []map[string]any) {
	for _, o := range objects {
		if _, ok := d.declared[d.known[asText(o[member])].Type]; ok {
			d.declares[c.tool] = true
			return
		}
	}
	r := rule{Tool: c.tool, Each: strings.TrimSuffix(each, "$"), Type: typ, Value: "$" + step(member), Attributes: make(map[string]attribute)}
	if kind, currency := kindOf(member, objects, around); kind == entity.KindMoney {
		r.ValueType, r.Currency = kind.String(), currency
	}
	said := scalars(nil, c.args)
	for _, key := range members(objects) {
		kind, currency := kindOf(key, objects, around)
		a := attributeOf(key, kind, currency)
		switch {
		case key == member || key == "currency" || kind == entity.KindNone:
			continue
		case strings.HasSuffix(key, "_uri") && r.ArtifactURI == "" && kind == entity.KindText:
			r.ArtifactURI = a.Path
			continue
		}
		a.moves = moving.MatchString(key)
		for _, o := range objects {
			v, ok := o[key]
			a.Optional = a.Optional || !ok || v == nil
			a.echo = a.echo || kind != entity.KindBool && slices.ContainsFunc(said, func(s any) bool { return equal(s, v, kind, currency) })
		}
		r.Attributes[key] = a
	}
	for _, o := range objects {
		e := entity.Entity{Type: typ, Value: asText(o[member]), Attributes: make(map[string]entity.Value)}
		for name, a := range r.Attributes {
			if v, err := entity.FromAny(o[name], a.kind, a.Currency); err == nil {
				e.Attributes[name] = v
			}
		}
		if _, known := d.known[e.Value]; !known && e.Value != "" {
			d.known[e.Value] = e
		}
	}
	d.add(r)
}

// action drafts rules for the arguments that name entities, and for the first object of each list.
func (d *draft) action(c call) {
	args, _ := c.args.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(args)) {
		each, v := "$"+step(key), args[key]
		if list, is := v.([]any); is && len(list) > 0 {
			each, v = each+"[*]", list[0]
		}
		if o, is := v.(map[string]any); is {
			d.actionObject(c.tool, each, o)
		} else if e, ok := d.known[asText(v)]; ok {
			d.add(rule{Tool: c.tool, In: inAction, Each: each, Type: e.Type, Value: "$"}) // a call without it is no error
		}
	}
}

// actionObject drafts a rule for an object in the arguments that names an entity.
func (d *draft) actionObject(tool, each string, o map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		e, ok := d.known[asText(o[key])]
		if !ok {
			continue
		}
		r := rule{Tool: tool, In: inAction, Each: each, Type: e.Type, Value: "$" + step(key), Attributes: make(map[string]attribute)}
		for name, v := range e.Attributes {
			for _, other := range slices.Sorted(maps.Keys(o)) {
				if k := v.Kind(); other != key && k != entity.KindBool && equal(o[other], v.String(), k, v.Currency()) {
					r.Attributes[name] = attributeOf(other, k, v.Currency())
					break
				}
			}
		}
		d.add(r)
		return
	}
}

// add adds a rule, or what it has more than an earlier one for the same place.
func (d *draft) add(r rule) {
	for _, old := range d.rules {
		if old.Tool != r.Tool || old.Each != r.Each || old.Type != r.Type || old.In != r.In {
			continue
		}
		for name, a := range r.Attributes {
			b, is := old.Attributes[name]
			if !is {
				b = a
			}
			b.Optional, b.echo = !is || a.Optional || b.Optional, a.echo || b.echo
			old.Attributes[name] = b
		}
		for name, b := range old.Attributes {
			if _, is := r.Attributes[name]; !is {
				b.Optional = true
				old.Attributes[name] = b
			}
		}
		return
	}
	r.Name = strings.ToLower(r.Type) + " of " + r.Tool
	for n := 2; slices.ContainsFunc(d.rules, func(o rule) bool { return o.Name == r.Name }); n++ {
		r.Name = fmt.Sprintf("%s of %s %d", strings.ToLower(r.Type), r.Tool, n)
	}
	d.rules = append(d.rules, r)
}

var (
	// moving are names of members that change without a change of the thing.
	moving = regexp.MustCompile(`(?i)(^|_)(score|match|rank|relevance|confidence|considered|total|count|as_of|updated|updated_at|timestamp|fetched_at|now|request_id|trace_id|etag)$`)
	amount = regexp.MustCompile(`(?i)(^|_)(price|cost|amount|spend|budget|fee|total|authorized|balance|limit|unspent|bid|cpm|rate)$`)
	signed = regexp.MustCompile(`^((US|CA|AU?|NZ|HK|NT|S)?\$|[€£¥]|[A-Z]{3} ?)\s?[0-9][0-9,.]*$|^[0-9][0-9,.]* ?(€|[A-Z]{3})$`)
)

// kindOf returns the kind of a member, and its currency if it is money; KindNone if it is no
// attribute. An amount without a currency of its own takes the one beside it, or around it.
func kindOf(key string, objects, around []map[string]any) (entity.Kind, string) {
	kind, currency := entity.KindNone, ""
	for _, o := range objects {
		v, ok := o[key]
		if !ok || v == nil {
			continue
		}
		k, c := kindOfValue(key, v, append(around[:len(around):len(around)], o))
		if kind != entity.KindNone && k != kind {
			return entity.KindNone, ""
		}
		kind, currency = k, cmp.Or(c, currency)
	}
	return kind, currency
}

func kindOfValue(key string, v any, around []map[string]any) (entity.Kind, string) {
	const longest = 200
	switch v := v.(type) {
	case bool:
		return entity.KindBool, ""
	case json.Number:
		for _, o := range slices.Backward(around) {
			if c, ok := o["currency"].(string); ok && amount.MatchString(key) {
				return entity.KindMoney, c
			}
		}
		return entity.KindNumber, ""
	case string:
		if len(v) > longest || strings.Contains(v, "\n") {
			return entity.KindNone, ""
		}
		if signed.MatchString(v) {
			if m, err := entity.ParseMoney(v, "USD"); err == nil {
				return entity.KindMoney, m.Currency()
			}
		}
		if _, err := entity.FromAny(v, entity.KindTime, ""); err == nil {
			return entity.KindTime, ""
		}
		return entity.KindText, ""
	}
	return entity.KindNone, ""
}

// equal reports whether two JSON scalars are one value of the kind.
func equal(a, b any, k entity.Kind, currency string) bool {
	v, err1 := entity.FromAny(a, k, currency)
	w, err2 := entity.FromAny(b, k, currency)
	return err1 == nil && err2 == nil && v.Equal(w)
}

// scalars appends the texts, numbers and booleans in v.
func scalars(out []any, v any) []any {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			out = scalars(out, e)
		}
	case []any:
		for _, e := range v {
			out = scalars(out, e)
		}
	case nil:
	default:
		out = append(out, v)
	}
	return out
}

func members(objects []map[string]any) []string {
	all := make(map[string]bool)
	for _, o := range objects {
		for key := range o {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func scalar(v any) bool { return asText(v) != "" }

// asText returns a text or a number as text, "" for anything else.
func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// step returns the part of a path that selects a member.
func step(key string) string {
	if plain.MatchString(key) {
		return "." + key
	}
	quoted, _ := json.Marshal(key) // a text always can be
	return "[" + string(quoted) + "]"
}

// noun returns the last word of the name of a tool: build of get_build.
func noun(tool string) string {
	return tool[strings.LastIndexAny(tool, "_-. ")+1:]
}

func singular(s string) string {
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ses"), strings.HasSuffix(s, "xes"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") && !strings.HasSuffix(s, "is"):
		return s[:len(s)-1]
	}
	return s
}

// title makes the name of a type: LineItem of line_item.
func title(s string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '_' || r == '-' || r == ' ' || r == '.' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
