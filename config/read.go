// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// reader reads a file into a Config. One walk over the nodes notes where each value stands, refuses what
// suits no key, and mends or refuses what package yaml takes in another sense than the file shows: it
// leaves elements out of a list, drops the fraction of 1.5, takes yes for true and 5 for a text, and any
// of these can open a gate. Package yaml decodes what is left.
type reader struct {
	*report
	environ  map[string]string
	used     map[string]bool // the variables that the file or a key names
	known    []string        // the variables of keys
	unknown  []unknown
	operands map[string]any // the values of conditions, by path
}

// unknown is a key that a struct does not have.
type unknown struct {
	key, path string
	of        reflect.Type
}

func (r *reader) read(data []byte) (c Config) {
	top := r.document(data)
	r.override(top)
	r.walk(top, reflect.TypeFor[Config](), "")
	for _, u := range r.unknown {
		r.unknownKey(u)
	}
	r.unknownVariables()
	if err := top.Decode(&c); err != nil {
		r.add(Problem{"", err.Error(), "correct this file"})
	}
	for i := range c.Extract {
		path := Index("extract", i)
		c.Extract[i].Place = fmt.Sprintf("%s:%d", filepath.Base(r.file), r.places[path].line)
		if _, given := r.places[path+".confidence"]; given && c.Extract[i].Confidence == 0 {
			r.add(Problem{path + ".confidence", "0 is no confidence at all", "write a number greater than 0 and at most 1, or leave the key out for 1"})
		}
	}
	const dsn = "store.postgres.dsn"
	if at, given := r.places[dsn]; given && at.line > 0 {
		c.Store.Postgres.Place = fmt.Sprintf("%s:%d", r.file, at.line)
	}
	r.setOperands("guard.drift", c.Guard.Drift)
	for name, t := range c.Guard.Types {
		r.setOperands(Entry("guard.types", name)+".drift", t.Drift)
	}
	return c
}

// unknownKey reports a key that a struct does not have. The key that was meant is not also missing.
func (r *reader) unknownKey(u unknown) {
	prefix := "value."
	if u.of != reflect.TypeFor[Extract]() || !strings.HasPrefix(u.key, prefix) {
		prefix = ""
	}
	var names []string
	for _, f := range fields(u.of) {
		if name, ok := strings.CutPrefix(f.Tag.Get("yaml"), prefix); ok && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	name := strings.TrimPrefix(u.key, prefix)
	r.add(Problem{u.path, "unknown key", choose(name, "known keys", names)})
	if meant := text.Nearest(strings.ToLower(name), names); meant != "" {
		meant = strings.TrimPrefix(around(u.path)[1]+"."+meant, ".")
		_, written := r.places[meant]
		r.failed[meant] = r.failed[meant] || !written
	}
}

// fields returns the fields of a struct that a file can have.
func fields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Tag.Get("yaml") == "-" })
}

// fieldOf returns the field with a key.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range fields(t) {
		if f.Tag.Get("yaml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// walk goes through n, the value at path, beside its type.
func (r *reader) walk(n *yaml.Node, t reflect.Type, path string) {
	if _, ok := r.places[path]; !ok && n.Line > 0 {
		r.places[path] = place{line: n.Line, column: n.Column}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := t.Kind()
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.refuse(n, t, Problem{path, "anchors (&) and aliases (*) are not supported", "write the value out"})
	case n.Style&yaml.TaggedStyle != 0:
		r.refuse(n, t, Problem{path, "tags (!) are not supported", "write the value without a tag"})
	case kind == reflect.Interface:
		r.operands[path] = r.operand(n, path)
		*n = neutral(t)
	case kind == reflect.Struct || kind == reflect.Map || kind == reflect.Slice:
		r.collection(n, t, path)
	default:
		r.scalar(n, t, path)
	}
}

// refuse reports a value that cannot be read.
func (r *reader) refuse(n *yaml.Node, t reflect.Type, p Problem) {
	r.add(p)
	*n = neutral(t)
}

// neutral returns a node that sets nothing, and is an element of a list nevertheless.
func neutral(t reflect.Type) yaml.Node {
	switch t.Kind() {
	case reflect.Struct:
		return yaml.Node{Kind: yaml.MappingNode}
	case reflect.String:
		return yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
	case reflect.Uint8: // no type of value, so that nothing follows from it
		return yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "255"}
	default:
		return yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
}

// isEmpty reports whether n is a key without a value. A section or a list then sets nothing, for
// example when every line under it is a comment.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == ""
}

// collection walks through a section, a mapping with names of its own, or a list.
func (r *reader) collection(n *yaml.Node, t reflect.Type, path string) {
	isList := t.Kind() == reflect.Slice
	switch {
	case isEmpty(n):
	case isList && n.Kind == yaml.SequenceNode:
		for i, element := range n.Content {
			r.walk(element, t.Elem(), Index(path, i))
		}
	case !isList && n.Kind == yaml.MappingNode:
		n.Content = r.entries(n, t, path, "", make(map[string]int, len(n.Content)/2))
	default:
		r.wrongType(n, t, path)
	}
	if len(n.Content) == 0 {
		*n = neutral(t)
	}
}

// entries walks through the entries of a mapping and returns those that package yaml shall see. It
// sees the keys of a mapping below the key "value" as keys of the struct: value.args. first has the line of
// each of these.
func (r *reader) entries(n *yaml.Node, t reflect.Type, path, prefix string, first map[string]int) (out []*yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := place{line: key.Line, column: key.Column}
		switch {
		case key.ShortTag() == "!!merge":
			r.addAt(at, Problem{path, "merge keys (<<) are not supported", "write the keys out"})
			continue
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Style&yaml.TaggedStyle != 0 || key.Anchor != "":
			r.addAt(at, Problem{path, "found a key that is not plain text", "write the key as a word; put quotes around it when it looks like a number or a boolean"})
			continue
		}
		below := strings.TrimPrefix(Entry(path, key.Value), ".")
		key.Value = prefix + key.Value
		if line, ok := first[key.Value]; ok {
			r.failed[below] = true
			r.addAt(at, Problem{below, "duplicate key, first on line " + strconv.Itoa(line), "keep one of them"})
			continue
		}
		first[key.Value] = key.Line
		if _, ok := r.places[below]; !ok && key.Line > 0 && value.Kind != yaml.ScalarNode {
			r.places[below] = at // a missing key, or a wrong name, is reported at its name
		}
		if t.Kind() == reflect.Map {
			r.walk(value, t.Elem(), below)
			out = append(out, key, value)
			continue
		}
		f, known := fieldOf(t, key.Value)
		_, nested := fieldOf(t, key.Value+".args")
		switch {
		case !known:
			r.places[below] = at
			r.unknown = append(r.unknown, unknown{key.Value, below, t})
			continue
		case nested && value.Kind == yaml.MappingNode:
			out = append(out, r.entries(value, t, below, key.Value+".", first)...)
			continue
		default:
			r.walk(value, f.Type, below)
		}
		out = append(out, key, value)
	}
	return out
}

// form is how values of a kind are written: the tags that package yaml gives them, and the remedy
// for another value.
type form struct{ tags, remedy string }

var forms = map[reflect.Kind]form{
	reflect.Struct:  {"!!map", "write a mapping: one \"key: value\" per line, indented under this key"},
	reflect.Map:     {"!!map", "write a mapping: one \"key: value\" per line, indented under this key"},
	reflect.Slice:   {"!!seq", "write a list: one \"- value\" per line, or [a, b]"},
	reflect.Bool:    {"!!bool", "write true or false, without quotes"},
	reflect.Int:     {"!!int", "write a whole number, without quotes or a unit"},
	reflect.Float64: {"!!int !!float", "write a number, without quotes or a unit"},
	reflect.Int64:   {"!!str !!int", "write for example 30s or 7d (units: ms, s, m, h, d)"},
	reflect.String:  {"!!str", "write a text; put quotes around it when it looks like a number, a boolean or a date"},
	reflect.Uint8:   {"!!str", "write one of: " + strings.Join(kindNames(), ", ")},
}

const orDefault = ", or leave it out for the default"

// scalar mends a single value: package yaml reads no days, no units of sizes and no types of entities.
func (r *reader) scalar(n *yaml.Node, t reflect.Type, path string) {
	if t == reflect.TypeFor[Secret]() {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
			r.refuse(n, t, Problem{path, "found no text", `write a text in quotes, for example "Bearer ${ADS_TOKEN}"`})
			return
		}
		n.Value = r.expand(path, n.Value)
		return
	}
	if t == reflect.TypeFor[Alternatives]() {
		switch tag := n.ShortTag(); {
		case tag == "!!bool" && strings.EqualFold(n.Value, "false"):
			*n = neutral(t)
		case tag == "!!bool", tag == "!!str" && n.Value == string(AlternativesSession):
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToLower(n.Value)}
		default:
			r.wrongType(n, t, path)
		}
		return
	}
	if !strings.Contains(forms[t.Kind()].tags, n.ShortTag()) {
		r.wrongType(n, t, path)
		return
	}
	switch value := Quote(n.Value); t {
	case reflect.TypeFor[time.Duration]():
		d, err := ParseDuration(n.Value)
		switch {
		case err != nil:
			r.refuse(n, t, Problem{path, value + " is not a duration", remedyFor(n, t)})
		case d <= 0:
			r.refuse(n, t, Problem{path, value + " is not a positive duration", remedyFor(n, t) + orDefault})
		default:
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: d.String()}
		}
	case reflect.TypeFor[Size]():
		size, problem, remedy := parseSize(n.Value)
		if problem != "" {
			r.refuse(n, t, Problem{path, problem, remedy})
			return
		}
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatInt(int64(size), 10)}
	case reflect.TypeFor[entity.Kind]():
		kind, err := entity.ParseKind(n.Value)
		if err != nil || kind == entity.KindNone {
			r.refuse(n, t, Problem{path, value + " is not a type of value", remedyFor(n, t)})
			return
		}
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(kind))}
	case reflect.TypeFor[int]():
		switch i, err := strconv.ParseInt(n.Value, 0, 64); {
		case err != nil:
			r.wrongType(n, t, path)
		case i <= 0:
			r.refuse(n, t, Problem{path, value + " is not a positive number", remedyFor(n, t) + orDefault})
		}
	default:
		if t.Kind() == reflect.String && strings.TrimSpace(n.Value) == "" {
			r.refuse(n, t, Problem{path, "the text is empty", "write a value, or leave the key out"})
		}
	}
}

// wrongType reports a value of another type than that of its key.
func (r *reader) wrongType(n *yaml.Node, t reflect.Type, path string) {
	r.refuse(n, t, Problem{path, "found " + describe(n), remedyFor(n, t)})
}

func describe(n *yaml.Node) string {
	value := Quote(n.Value)
	switch tag := n.ShortTag(); tag {
	case "!!map", "!!seq", "!!null":
		return map[string]string{"!!map": "a mapping", "!!seq": "a list", "!!null": "no value"}[tag]
	case "!!str":
		return "the text " + value
	case "!!bool":
		return "the boolean " + strings.Trim(value, `"`)
	case "!!timestamp":
		return "the date " + strings.Trim(value, `"`)
	default:
		return "the number " + strings.Trim(value, `"`)
	}
}

// remedyFor says how values of a type are written.
func remedyFor(n *yaml.Node, t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Size]():
		return sizeRemedy
	case t == reflect.TypeFor[Alternatives]():
		return "write true, false or session, without quotes"
	case t.Kind() == reflect.String && n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
		return `write a text; put quotes around one that begins with a brace, as "{value}"`
	default:
		return forms[t.Kind()].remedy
	}
}

// operand returns the value of a condition: a text, a number or a boolean, and for one_of a list of
// these. It is nil if it was reported.
func (r *reader) operand(n *yaml.Node, path string) any {
	if n.Kind == yaml.SequenceNode && strings.HasSuffix(path, ".one_of") {
		values := make([]any, len(n.Content))
		for i, element := range n.Content {
			at := Index(path, i)
			r.places[at] = place{line: element.Line, column: element.Column}
			values[i] = r.operand(element, at)
		}
		if slices.Contains(values, nil) {
			return nil
		}
		return values
	}
	const remedy = `write a text, a number, a boolean or a JSONPath, for example 8 or $.cpus; put quotes around a date`
	switch n.ShortTag() {
	case "!!str":
		if strings.TrimSpace(n.Value) != "" {
			return n.Value
		}
		r.add(Problem{path, "the text is empty", "write a value, or leave the key out"})
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		r.add(Problem{path, n.Value + " is not a decimal number", "write for example 8 or 0.5, or put quotes around it for a text"})
	default:
		r.add(Problem{path, "found " + describe(n), remedy})
	}
	return nil
}

// setOperands sets the conditions of the entries at path.
func (r *reader) setOperands(path string, drift map[string]Drift) {
	for attribute, d := range drift {
		for _, o := range d.conditions() {
			*o.Field = r.operands[Entry(path, attribute)+"."+o.Key]
		}
		drift[attribute] = d
	}
}
