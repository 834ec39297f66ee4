// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package paths walks JSONPaths. It says which parts of the arguments of a call rules read, and which they leave out,
// and reads the elements of a set out of a document.
package paths

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Plain reports whether a path has names, indexes and [*] only: each takes all that stands there.
func Plain(path *jsonpath.Path) bool {
	for _, s := range path.Query().Segments() {
		if s.IsDescendant() || len(s.Selectors()) != 1 {
			return false
		}
		switch s.Selectors()[0].(type) {
		case spec.Name, spec.Index, spec.WildcardSelector:
		default:
			return false
		}
	}
	return true
}

// Reader walks paths through the arguments of a call. Places are JSON Pointers.
type Reader struct {
	root any
	read map[string]bool
	// names has the members that paths go through, by the place of their object. lists has the lists and
	// objects that paths take the elements of.
	names   map[string]map[string]bool
	objects map[string]map[string]any
	lists   map[string][]node
	faults  []string
}

// node is a value, with its place for programs and for people.
type node struct {
	at, name string
	value    any
}

// New returns a Reader of arguments in which texts are opened.
func New(root any) *Reader {
	return &Reader{
		root: root, read: make(map[string]bool), names: make(map[string]map[string]bool),
		objects: make(map[string]map[string]any), lists: make(map[string][]node),
	}
}

// Names walks the path of a rule to the names of things: each, and the value in it. Both are [Plain]. A list or a
// text that is empty is a fault unless it is optional. Another value where the path needs a list or an object is a fault.
func (r *Reader) Names(rule string, optional bool, each, value *jsonpath.Path) {
	ends := r.walk(r.walk([]node{{value: r.root}}, each, true, rule, optional), value, true, rule, optional)
	for _, n := range ends {
		r.read[n.at] = true
	}
}

// Reads notes that something reads what a path selects from the nodes at another one.
func (r *Reader) Reads(from, path *jsonpath.Path) {
	for _, start := range from.SelectLocated(r.root) {
		at := start.Path.Pointer()
		if Plain(path) {
			for _, n := range r.walk([]node{{at: at, name: at, value: start.Node}}, path, false, "", true) {
				r.read[n.at] = true
			}
			continue
		}
		for _, n := range path.SelectLocated(start.Node) {
			r.read[at+n.Path.Pointer()] = true
		}
	}
}

func (r *Reader) walk(from []node, path *jsonpath.Path, faults bool, rule string, optional bool) []node {
	for _, s := range path.Query().Segments() {
		var next []node
		for _, n := range from {
			children, fits := r.step(n, s.Selectors()[0], faults)
			switch {
			case fits || !faults || n.value == nil:
			case !empty(n.value):
				r.fault("%s is no list or object, and rule %q takes it for one", n.shown(), rule)
			case !optional:
				r.fault("%s is empty, and rule %q reads it: name something there, or, if it may be empty, write optional: true in the rule", n.shown(), rule)
			}
			next = append(next, children...)
		}
		from = next
	}
	return from
}

// step takes one step of a path from a node. It does not fit if the node has no such elements.
func (r *Reader) step(n node, selector spec.Selector, list bool) (children []node, fits bool) {
	object, _ := n.value.(map[string]any)
	elements, _ := n.value.([]any)
	switch s := selector.(type) {
	case spec.Name:
		if object == nil {
			return nil, false
		}
		if r.objects[n.at] = object; r.names[n.at] == nil {
			r.names[n.at] = make(map[string]bool)
		}
		r.names[n.at][string(s)] = true
		if v, has := object[string(s)]; has {
			children = append(children, n.member(string(s), v))
		}
		return children, true
	case spec.Index:
		object = nil
	}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		children = append(children, n.member(k, object[k]))
	}
	for i, v := range elements {
		children = append(children, n.element(i, v))
	}
	if list && len(children) > 0 {
		r.lists[n.at] = children
	}
	if i, is := selector.(spec.Index); is && len(elements) > 0 {
		if i < 0 {
			i += spec.Index(len(elements))
		}
		if i < 0 || int(i) >= len(elements) {
			return nil, true
		}
		return children[i : i+1], true
	}
	return children, len(children) > 0
}

func (n node) member(key string, v any) node {
	at := n.at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	return node{at, strings.TrimPrefix(n.name+"."+key, "."), v}
}

func (n node) element(i int, v any) node {
	at := "[" + strconv.Itoa(i) + "]"
	return node{n.at + "/" + strconv.Itoa(i), n.name + at, v}
}

// shown is the place for people.
func (n node) shown() string {
	if n.name == "" {
		return "the whole of the arguments"
	}
	return strconv.QuoteToASCII(n.name)
}

// empty reports whether a value has nothing in it.
func empty(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (r *Reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// Read returns the places that are read, sorted.
func (r *Reader) Read() []string { return slices.Sorted(maps.Keys(r.read)) }

// Faults returns what is wrong with the arguments: the faults of the walks, elements of lists in which nothing is named,
// and members that differ from one that is read in case, "_" or "-" alone. named has the places of the names of
// things.
func (r *Reader) Faults(named []string) []string {
	out, holds := slices.Clone(r.faults), make(map[string]bool)
	for _, at := range named {
		for holds[at] = true; at != ""; holds[at] = true {
			at = at[:strings.LastIndexByte(at, '/')]
		}
	}
	for _, at := range slices.Sorted(maps.Keys(r.lists)) {
		for _, e := range r.lists[at] {
			if !holds[e.at] {
				out = append(out, e.shown()+" names nothing that a rule reads")
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(r.objects)) {
		known := make(map[string]string)
		for name := range r.names[at] {
			known[spelling(name)] = name
		}
		for _, k := range slices.Sorted(maps.Keys(r.objects[at])) {
			if other := known[spelling(k)]; other != "" && !r.names[at][k] {
				out = append(out, fmt.Sprintf("the member %+q may be taken for %+q, which a rule reads", k, other))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// spelling maps names of members that programs may take for one to one text.
func spelling(name string) string {
	return text.FoldKey(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Unread returns the parts of arguments that nothing reads, as "options.ship.to" and "lines[*].days", sorted. What is
// null is no part.
func Unread(root any, read []string) []string {
	out, known := make(map[string]bool), make(map[string]bool, len(read))
	for _, at := range read {
		known[at] = true
	}
	var add func(n node)
	add = func(n node) {
		if n.value == nil || known[n.at] {
			return
		}
		object, _ := n.value.(map[string]any)
		list, _ := n.value.([]any)
		if len(object)+len(list) == 0 && n.at != "" {
			out[strings.TrimSuffix(n.name, "[*]")] = true
		}
		for k, v := range object {
			add(n.member(k, v))
		}
		for i, v := range list {
			e := n.element(i, v)
			e.name = n.name + "[*]"
			add(e)
		}
	}
	add(node{value: root})
	return slices.Sorted(maps.Keys(out))
}
