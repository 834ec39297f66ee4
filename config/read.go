// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"errors"
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

// reader reads a file into a Config. Package yaml decodes it, strictly. Before that, one walk over
// the nodes notes where each value stands, and mends or refuses what package yaml takes in another
// sense than the file shows: it leaves elements out of a list, drops the fraction of 1.5, takes yes
// for true and 5 for a text, and any of these can open a gate.
type reader struct {
	*report
	environ  map[string]string
	used     map[string]bool // the variables that the file or a key names
	known    []string        // the variables of keys
	nodes    []found         // by the number that stands for their line in errors of package yaml
	operands map[string]any  // the values of conditions, by path
}

// found is a node that the walk came to.
type found struct {
	node *yaml.Node
	path string
	of   reflect.Type // of the value, or of the struct that has no such key
}

func (r *reader) read(data []byte) (c Config) {
	top := r.document(data)
	r.override(top)
	r.walk(top, reflect.TypeFor[Config](), "")
	r.unknownVariables()
	d := yaml.NewDecoder(strings.NewReader("{}"))
	d.KnownFields(true)
	err := d.Decode(&strict{top, &c})
	var types *yaml.TypeError
	if errors.As(err, &types) {
		for _, problem := range types.Errors {
			r.explain(problem)
		}
	} else if err != nil {
		r.add(Problem{"", err.Error(), "correct this file"})
	}
	for i := range c.Extract {
		path := Index("extract", i)
		c.Extract[i].Place = fmt.Sprintf("%s:%d", filepath.Base(r.file), r.places[path].line)
		if _, given := r.places[path+".confidence"]; given && c.Extract[i].Confidence == 0 {
			r.add(Problem{path + ".confidence", "0 is no confidence at all", "write a number greater than 0 and at most 1, or leave the key out for 1"})
		}
	}
	r.setOperands("guard.drift", c.Guard.Drift)
	for name, t := range c.Guard.Types {
		r.setOperands(Entry("guard.types", name)+".drift", t.Drift)
	}
	return c
}

// strict decodes a node and refuses unknown keys. [yaml.Node.Decode] cannot refuse them; only a
// [yaml.Decoder] can. So a Decoder parses an empty mapping, and strict puts the node in its place.
type strict struct {
	node *yaml.Node
	into *Config
}

// UnmarshalYAML decodes the node in the place of the one that was parsed.
func (s *strict) UnmarshalYAML(decode func(any) error) error {
	if err := decode((*replaced)(s.node)); err != nil {
		return err
	}
	return decode(s.into)
}

type replaced yaml.Node

// UnmarshalYAML puts r into the place of n.
func (r *replaced) UnmarshalYAML(n *yaml.Node) error {
	*n = yaml.Node(*r)
	return nil
}

// explain reports an error of package yaml, or of a type that parses itself.
func (r *reader) explain(problem string) {
	m := yamlLine.FindStringSubmatch(problem)
	i, _ := strconv.Atoi(m[1]) // the pattern takes digits only
	at, problem := r.nodes[i], problem[len(m[0]):]
	switch {
	case strings.HasPrefix(problem, "field "):
		r.unknownKey(at)
	case strings.HasPrefix(problem, "cannot unmarshal "):
		r.wrongType(at.node, at.of, at.path)
	default:
		fault, remedy, _ := strings.Cut(problem, "; ")
		r.add(Problem{at.path, fault, cmp.Or(remedy, "keep one of them")})
	}
}

// unknownKey reports a key that a struct does not have. The key that was meant is not also missing.
func (r *reader) unknownKey(at found) {
	prefix := "value."
	if at.of != reflect.TypeFor[Extract]() || !strings.HasPrefix(at.node.Value, prefix) {
		prefix = ""
	}
	var names []string
	for _, f := range fields(at.of) {
		if name, ok := strings.CutPrefix(f.Tag.Get("yaml"), prefix); ok && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	name := strings.TrimPrefix(at.node.Value, prefix)
	r.add(Problem{at.path, "unknown key", choose(name, "known keys", names)})
	if meant := text.Nearest(strings.ToLower(name), names); meant != "" {
		meant = strings.TrimPrefix(around(at.path)[1]+"."+meant, ".")
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
	n.Line = r.number(n, path, t)
}

// number returns the number that stands for n in errors of package yaml.
func (r *reader) number(n *yaml.Node, path string, t reflect.Type) int {
	r.nodes = append(r.nodes, found{n, path, t})
	return len(r.nodes) - 1
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
		n.Content = r.entries(n, t, path, "")
	default:
		r.wrongType(n, t, path)
	}
	if len(n.Content) == 0 {
		*n = neutral(t)
	}
}

// entries walks through the entries of a mapping and returns those that package yaml shall see. It
// sees the keys of a mapping below the key "value" as keys of the struct: value.args.
func (r *reader) entries(n *yaml.Node, t reflect.Type, path, prefix string) (out []*yaml.Node) {
	first := make(map[string]int, len(n.Content)/2)
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
		if line, ok := first[key.Value]; ok {
			r.failed[below] = true
			r.addAt(at, Problem{below, "duplicate key, first on line " + strconv.Itoa(line), "keep one of them"})
			continue
		}
		first[key.Value] = key.Line
		key.Value = prefix + key.Value
		if _, ok := r.places[below]; !ok && key.Line > 0 && value.Kind != yaml.ScalarNode {
			r.places[below] = at // a missing key, or a wrong name, is reported at its name
		}
		key.Line = r.number(key, below, t)
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
		case nested && value.Kind == yaml.MappingNode:
			out = append(out, r.entries(value, t, below, key.Value+".")...)
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

// scalar mends a single value: package yaml reads no days and no types of entities.
func (r *reader) scalar(n *yaml.Node, t reflect.Type, path string) {
	if t == reflect.TypeFor[Secret]() {
		n.Value = r.expand(path, n.Value)
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
	case reflect.TypeFor[entity.Kind]():
		kind, err := entity.ParseKind(n.Value)
		if err != nil || kind == entity.KindNone {
			r.refuse(n, t, Problem{path, value + " is not a type of value", remedyFor(n, t)})
			return
		}
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(kind))}
	case reflect.TypeFor[int]():
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil && i <= 0 {
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
