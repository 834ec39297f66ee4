// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package propose drafts a configuration from recorded calls: rules for the entities in results and
// arguments, and checkers for their types. A draft is a beginning, for people to correct.
package propose

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	name, path, currency string
	kind                 entity.Kind
	// optional: some objects lack it. echo: the arguments of the call have it too. moves: its name says
	// that it changes by itself.
	optional, echo, moves bool
}

// rule is a rule of the draft.
type rule struct {
	name, tool, each, typ, value string
	kind                         entity.Kind // of the value
	currency, artifact           string
	action, alternatives         bool
	attributes                   []attribute
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
		r.alternatives = !r.action && strings.HasSuffix(r.each, "[*]") &&
			slices.ContainsFunc(d.rules, func(o rule) bool { return o.action && o.typ == r.typ })
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
	r := rule{tool: c.tool, each: each, typ: typ, value: "$" + step(member)}
	r.kind, r.currency = kindOf(member, objects, around)
	said := scalars(nil, c.args)
	for _, key := range members(objects) {
		if key == member || key == "currency" {
			continue
		}
		a := attribute{name: key, path: "$" + step(key), moves: moving.MatchString(key)}
		if a.kind, a.currency = kindOf(key, objects, around); a.kind == entity.KindNone {
			continue
		}
		for _, o := range objects {
			v, ok := o[key]
			a.optional = a.optional || !ok || v == nil
			a.echo = a.echo || a.kind != entity.KindBool && slices.ContainsFunc(said, func(s any) bool { return equal(s, v, a.kind, a.currency) })
		}
		if strings.HasSuffix(key, "_uri") && r.artifact == "" && a.kind == entity.KindText {
			r.artifact = a.path
			continue
		}
		r.attributes = append(r.attributes, a)
	}
	for _, o := range objects {
		e := entity.Entity{Type: typ, Value: asText(o[member]), Attributes: make(map[string]entity.Value)}
		for _, a := range r.attributes {
			if v, err := entity.FromAny(o[a.name], a.kind, a.currency); err == nil {
				e.Attributes[a.name] = v
			}
		}
		if _, known := d.known[e.Value]; !known {
			d.known[e.Value] = e
		}
	}
	d.add(r)
}

// action drafts rules for the arguments that name entities.
func (d *draft) action(c call) {
	args, _ := c.args.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(args)) {
		at := "$" + step(key)
		switch v := args[key].(type) {
		case []any:
			d.actionList(c.tool, at, v)
		case map[string]any:
			d.actionObject(c.tool, at, v)
		default:
			if e, ok := d.known[asText(v)]; ok && scalar(v) {
				// A call without the argument is no error.
				d.add(rule{tool: c.tool, each: at, typ: e.Type, value: "$", action: true})
			}
		}
	}
}

func (d *draft) actionList(tool, at string, list []any) {
	if len(list) == 0 {
		return
	}
	if o, ok := list[0].(map[string]any); ok {
		d.actionObject(tool, at+"[*]", o)
	} else if e, ok := d.known[asText(list[0])]; ok && scalar(list[0]) {
		d.add(rule{tool: tool, each: at + "[*]", typ: e.Type, value: "$", action: true})
	}
}

func (d *draft) actionObject(tool, each string, o map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		e, ok := d.known[asText(o[key])]
		if !ok || !scalar(o[key]) {
			continue
		}
		r := rule{tool: tool, each: each, typ: e.Type, value: "$" + step(key), action: true}
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			v := e.Attributes[name]
			for _, other := range slices.Sorted(maps.Keys(o)) {
				if k := v.Kind(); other != key && k != entity.KindBool && equal(o[other], v.String(), k, v.Currency()) {
					r.attributes = append(r.attributes, attribute{name: name, path: "$" + step(other), kind: k, currency: v.Currency()})
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
	for i := range d.rules {
		old := &d.rules[i]
		if old.tool != r.tool || old.each != r.each || old.typ != r.typ || old.action != r.action {
			continue
		}
		for _, a := range r.attributes {
			if j := slices.IndexFunc(old.attributes, func(b attribute) bool { return b.name == a.name }); j < 0 {
				a.optional = true
				old.attributes = append(old.attributes, a)
			} else {
				b := &old.attributes[j]
				b.optional, b.echo = b.optional || a.optional, b.echo || a.echo
			}
		}
		for j := range old.attributes {
			if !slices.ContainsFunc(r.attributes, func(a attribute) bool { return a.name == old.attributes[j].name }) {
				old.attributes[j].optional = true
			}
		}
		return
	}
	r.name = strings.ToLower(r.typ) + " of " + r.tool
	for n := 2; slices.ContainsFunc(d.rules, func(o rule) bool { return o.name == r.name }); n++ {
		r.name = strings.ToLower(r.typ) + " of " + r.tool + " " + string(rune('0'+n%10))
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
