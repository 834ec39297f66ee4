// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// decoder reads a parsed document into a Config, by the types and the yaml tags of its structs.
// It takes exactly the keys that they have, as KnownFields of package yaml does, and of each
// value only the form that its type is written in. Package yaml by itself would take a word
// for a boolean (yes) and a number for a text, and either can open a gate; its errors have
// no column and name no remedy.
type decoder struct {
	*problems
	env *environment
}

func place(n *yaml.Node) position { return position{n.Line, n.Column} }

// decode reads n into the value of k. def is the default of the value, not valid if there is
// none.
func (d *decoder) decode(k Key, n *yaml.Node, def reflect.Value) {
	v := k.value
	switch {
	case v.Type() == reflect.TypeFor[Secret]():
		d.secret(k, n)
	case v.Kind() == reflect.Interface:
		d.operand(k, n)
	case v.Kind() == reflect.Struct:
		d.mapping(k, n, def)
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct:
		v.Set(reflect.New(v.Type().Elem()))
		k.value = v.Elem()
		d.mapping(k, n, reflect.Value{})
	case v.Kind() == reflect.Map:
		d.each(k, n, func(name string) Key { return k.Entry(name, nil) }, func(at Key, name, node *yaml.Node) {
			at.value = reflect.New(v.Type().Elem()).Elem()
			d.decode(at, node, reflect.Value{})
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(name.Value), at.value)
		})
	case v.Kind() == reflect.Slice:
		d.list(k, n)
	default:
		d.scalar(k, n, def)
	}
}

// plain refuses what makes a file mean something else than it shows. It reports
// whether n can be decoded.
func (d *decoder) plain(k Key, n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.addAt(place(n), k, "anchors (&) and aliases (*) are not supported", "write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		d.addAt(place(n), k, "tags (!) are not supported", "write the value without a tag")
	default:
		return true
	}
	return false
}

// wrongType reports a node of a type the key does not take.
func (d *decoder) wrongType(k Key, n *yaml.Node, remedy string) {
	d.addAt(place(n), k, "found "+describe(n), remedy)
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "no value"
	case "!!str":
		return "the text " + Quote(n.Value)
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + strings.Trim(Quote(n.Value), `"`)
	case "!!timestamp":
		return "the date " + n.Value
	default:
		return Quote(n.Value)
	}
}

// empty reports whether n is a key without a value. A section or a list then sets nothing, for
// example when every line under it is a comment.
func empty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == ""
}

// keyed is a field of a struct with the name of its key.
type keyed struct {
	name  string
	field int
}

// keys returns the keys of a struct, in order. Below a prefix they are the keys of the fields that
// have names with a dot.
func keys(t reflect.Type, prefix string) (out []keyed) {
	for i := range t.NumField() {
		name, ok := strings.CutPrefix(t.Field(i).Tag.Get("yaml"), prefix)
		if ok && name != "" && name != "-" && !strings.Contains(name, ".") {
			out = append(out, keyed{name, i})
		}
	}
	return out
}

// mapping reads a mapping into the struct at k.
func (d *decoder) mapping(k Key, n *yaml.Node, def reflect.Value) {
	if e, ok := k.value.Addr().Interface().(*Extract); ok {
		e.Place = fmt.Sprintf("%s:%d", filepath.Base(d.file), n.Line)
	}
	d.known(k, k, n, "", def)
}

// known reads the keys of the struct at k that begin with prefix from the mapping n at at.
func (d *decoder) known(k, at Key, n *yaml.Node, prefix string, def reflect.Value) {
	t := k.value.Type()
	all := keys(t, prefix)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	path := func(name string) Key {
		return Key{problems: k.problems, file: strings.TrimPrefix(at.file+"."+name, "."), parent: &at}
	}
	d.each(at, n, path, func(at Key, name, node *yaml.Node) {
		i := slices.Index(names, name.Value)
		if i < 0 {
			d.unknown(k, at, n, name, names)
			return
		}
		f := all[i].field
		key := k.field(t.Field(f), k.value.Field(f))
		if below := name.Value + "."; node.Kind == yaml.MappingNode && len(keys(t, below)) > 0 {
			d.known(k, key, node, below, reflect.Value{})
			return
		}
		var of reflect.Value
		if def.IsValid() {
			of = def.Field(f)
		}
		d.decode(key, node, of)
	})
}

// unknown reports a key that the struct at k does not have.
func (d *decoder) unknown(k, at Key, n, name *yaml.Node, names []string) {
	remedy := "known keys: " + strings.Join(names, ", ")
	if meant := text.Nearest(name.Value, names); meant != "" {
		remedy = "did you mean " + Quote(meant) + "? Known keys: " + strings.Join(names, ", ")
		if !hasKey(n, meant) {
			// Not also "missing": the user did write it.
			d.reported[strings.TrimPrefix(k.file+"."+meant, ".")] = true
		}
	}
	d.addAt(place(name), at, "unknown key", remedy)
}

func hasKey(n *yaml.Node, name string) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return true
		}
	}
	return false
}

// each visits the entries of a mapping, each key once.
func (d *decoder) each(k Key, n *yaml.Node, path func(string) Key, visit func(at Key, name, value *yaml.Node)) {
	if !d.plain(k, n) || empty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(k, n, "write a mapping: one \"key: value\" per line, indented under this key")
		return
	}
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" || name.Style&yaml.TaggedStyle != 0 || name.Anchor != "" {
			if name.Kind == yaml.ScalarNode && name.ShortTag() == "!!merge" {
				d.note(place(name), k, "merge keys (<<) are not supported", "write the keys out")
				continue
			}
			d.note(place(name), k, "found a key that is not plain text", "write the key as a word; put quotes around it when it looks like a number or a boolean")
			continue
		}
		at := path(shorten(name.Value))
		if !isPlainKey(name.Value) {
			at = k.Entry(name.Value, nil)
		}
		if line, ok := first[name.Value]; ok {
			d.addAt(place(name), at, "duplicate key, first on line "+strconv.Itoa(line), "keep one of them")
			continue
		}
		first[name.Value] = name.Line
		d.at[at.file] = place(value)
		if value.Kind != yaml.ScalarNode {
			// A missing key, or a wrong name, is reported at its name.
			d.at[at.file] = place(name)
		}
		visit(at, name, value)
	}
}

// list reads a sequence.
func (d *decoder) list(k Key, n *yaml.Node) {
	if !d.plain(k, n) || empty(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(k, n, "write a list: one \"- value\" per line, or [a, b]")
		return
	}
	k.value.Set(reflect.MakeSlice(k.value.Type(), len(n.Content), len(n.Content)))
	for i, node := range n.Content {
		at := k.Index(i)
		d.at[at.file] = place(node)
		d.decode(at, node, reflect.Value{})
	}
	if len(n.Content) == 0 {
		k.value.SetZero()
	}
}
