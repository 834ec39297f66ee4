// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// decoder reads a parsed document into a Config. It accepts exactly the keys
// and types it is told: a library that decodes into structs would turn a
// misspelt key into a default and a quoted "false" into a word, and either can
// open a gate.
type decoder struct {
	*problems
	env *environment
}

// decodeFunc reads the node found at a key.
type decodeFunc func(k keyPath, n *yaml.Node)

// key is one known key of a mapping.
type key struct {
	name   string
	decode decodeFunc
}

func place(n *yaml.Node) position { return position{n.Line, n.Column} }

// plain refuses what makes a file mean something else than it shows. It reports
// whether n can be decoded.
func (d *decoder) plain(k keyPath, n *yaml.Node) bool {
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
func (d *decoder) wrongType(k keyPath, n *yaml.Node, remedy string) {
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
		return "the text " + quote(n.Value)
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + strings.Trim(quote(n.Value), `"`)
	case "!!timestamp":
		return "the date " + n.Value
	default:
		return quote(n.Value)
	}
}

// empty reports whether n is a key without a value. For a section or a list it
// means nothing is set, which is what commenting out every line under it leaves.
func empty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == ""
}

// mapping reads a mapping whose keys are known.
func (d *decoder) mapping(keys []key) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		names := make([]string, len(keys))
		for i := range keys {
			names[i] = keys[i].name
		}
		d.each(k, n, k.field, func(at keyPath, name, value *yaml.Node) {
			for i := range keys {
				if keys[i].name == name.Value {
					keys[i].decode(at, value)
					return
				}
			}
			if now := renamedKeys[name.Value]; slices.Contains(names, now) {
				d.addAt(place(name), at, "the key is now called "+now, "write "+now)
				return
			}
			remedy := "known keys: " + strings.Join(names, ", ")
			if meant := closest(name.Value, names); meant != "" {
				remedy = "did you mean " + quote(meant) + "? Known keys: " + strings.Join(names, ", ")
				if !hasKey(n, meant) {
					// Not also "missing": the user did write it.
					d.reported[k.field(meant).file] = true
				}
			}
			d.addAt(place(name), at, "unknown key", remedy)
		})
	}
}

func hasKey(n *yaml.Node, name string) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return true
		}
	}
	return false
}

// entries reads a mapping whose keys the user chooses.
func entries[T any](d *decoder, dst *map[string]T, value func(*T) decodeFunc) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		d.each(k, n, k.entry, func(at keyPath, name, node *yaml.Node) {
			var v T
			value(&v)(at, node)
			if *dst == nil {
				*dst = make(map[string]T)
			}
			(*dst)[name.Value] = v
		})
	}
}

// each visits the entries of a mapping, each key once.
func (d *decoder) each(k keyPath, n *yaml.Node, path func(string) keyPath, visit func(at keyPath, name, value *yaml.Node)) {
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
			at = k.entry(shorten(name.Value))
		}
		if line, ok := first[name.Value]; ok {
			d.addAt(place(name), at, "duplicate key, first on line "+strconv.Itoa(line), "keep one of them")
			continue
		}
		first[name.Value] = name.Line
		d.at[at.file] = place(value)
		if value.Kind != yaml.ScalarNode {
			// What lacks a key, or has a wrong name, shows at its name.
			d.at[at.file] = place(name)
		}
		visit(at, name, value)
	}
}

// list reads a sequence.
func list[T any](d *decoder, dst *[]T, item func(*T) decodeFunc) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		if !d.plain(k, n) || empty(n) {
			return
		}
		if n.Kind != yaml.SequenceNode {
			d.wrongType(k, n, "write a list: one \"- value\" per line, or [a, b]")
			return
		}
		for i, node := range n.Content {
			at := k.index(i)
			d.at[at.file] = place(node)
			var v T
			item(&v)(at, node)
			*dst = append(*dst, v)
		}
	}
}

// scalar returns the scalar at n when it has one of the tags.
func (d *decoder) scalar(k keyPath, n *yaml.Node, remedy string, tags ...string) (string, bool) {
	if !d.plain(k, n) {
		return "", false
	}
	if n.Kind == yaml.ScalarNode {
		for _, tag := range tags {
			if n.ShortTag() == tag {
				return n.Value, true
			}
		}
	}
	d.wrongType(k, n, remedy)
	return "", false
}

// text reads a non-empty text into dst. Every optional text of a Config is unset
// when empty, so that an empty one in a file says nothing and is a mistake.
func text[S ~string](d *decoder, dst *S) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		remedy := "write a text; put quotes around it when it looks like a number, a boolean or a date"
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
			remedy = `write a text; put quotes around one that begins with a brace, as "{value}"`
		}
		s, ok := d.scalar(k, n, remedy, "!!str")
		switch {
		case !ok:
		case strings.TrimSpace(s) == "":
			d.addAt(place(n), k, "the text is empty", "write a value, or leave the key out")
		default:
			*dst = S(s)
		}
	}
}

// texts reads a list of non-empty texts.
func (d *decoder) texts(dst *[]string) decodeFunc {
	return list(d, dst, func(s *string) decodeFunc { return text(d, s) })
}

// boolean reads true or false.
func (d *decoder) boolean(set func(bool)) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		if s, ok := d.scalar(k, n, "write true or false, without quotes", "!!bool"); ok {
			set(strings.EqualFold(s, "true"))
		}
	}
}

// number reads a finite number.
func (d *decoder) number(set func(float64)) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		const remedy = "write a number, without quotes or a unit"
		if _, ok := d.scalar(k, n, remedy, "!!int", "!!float"); !ok {
			return
		}
		var f float64
		if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.wrongType(k, n, remedy)
			return
		}
		set(f)
	}
}

// confidence reads a number that is not 0, which would mean the default in a
// Config.
func (d *decoder) confidence(dst *float64) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		d.number(func(v float64) {
			if v == 0 {
				d.addAt(place(n), k, "0 is no confidence at all", "write a number greater than 0 and at most 1, or leave the key out for 1")
				return
			}
			*dst = v
		})(k, n)
	}
}

// duration reads a duration. Zero would mean "the default" in a Config, which
// nobody who writes 0 expects.
func (d *decoder) duration(dst *time.Duration, example string) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		s, ok := d.scalar(k, n, durationRemedy(example), "!!str", "!!int")
		if !ok {
			return
		}
		v, problem, remedy := parseDuration(s, example)
		if problem != "" {
			d.addAt(place(n), k, problem, remedy)
			return
		}
		*dst = v
	}
}

// parseDuration returns s as a positive duration, or what is wrong with it.
func parseDuration(s, example string) (v time.Duration, problem, remedy string) {
	v, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, quote(s) + " is not a duration", durationRemedy(example)
	case v <= 0:
		return 0, quote(s) + " is not a positive duration", durationRemedy(example) + ", or leave it out for the default"
	default:
		return v, "", ""
	}
}

func durationRemedy(example string) string {
	return "write for example " + example + " (units: ms, s, m, h)"
}

// secret reads a text in which ${VAR} stands for an environment variable. What
// it reports does not show the text.
func (d *decoder) secret(dst *Secret) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		if !d.plain(k, n) {
			return
		}
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
			d.addAt(place(n), k, "found no text", "write a text in quotes, for example \"Bearer ${ADS_TOKEN}\"")
			return
		}
		if s, ok := d.expand(k, place(n), n.Value); ok {
			*dst = Secret(s)
		}
	}
}

// kind reads the name of a type of value.
func (d *decoder) kind(dst *entity.Kind) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		var name string
		text(d, &name)(k, n)
		if name == "" {
			return
		}
		kind, err := entity.ParseKind(name)
		if err != nil || kind == entity.KindNone {
			d.addAt(place(n), k, quote(name)+" is not a type of value", oneOf(kindNames()...))
			return
		}
		*dst = kind
	}
}

// part reads the name of a part of an event.
func (d *decoder) part(dst *graphsync.In) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		var name string
		text(d, &name)(k, n)
		if name == "" {
			return
		}
		in, err := graphsync.ParseIn(name)
		if err != nil {
			d.addAt(place(n), k, quote(name)+" is not a part of an event", oneOf("result", "args", "action", "content"))
			return
		}
		*dst = in
	}
}

func kindNames() []string {
	kinds := []entity.Kind{entity.KindText, entity.KindNumber, entity.KindMoney, entity.KindBool, entity.KindTime}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return names
}
