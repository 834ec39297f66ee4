// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/config"
)

// merge returns over laid over below. Mappings are merged key by key, and lists of mappings by the
// name or the type of their elements. Anything else of over takes the place of what is below; null
// removes it.
func merge(below, over *yaml.Node) *yaml.Node {
	switch {
	case below == nil || below.Kind != over.Kind:
		return over
	case over.Kind == yaml.MappingNode:
		return mergeMaps(below, over)
	case over.Kind == yaml.SequenceNode && named(below) && named(over):
		return mergeLists(below, over)
	}
	return over
}

func mergeMaps(below, over *yaml.Node) *yaml.Node {
	out := *below
	out.Content = slices.Clone(below.Content)
	for i := 0; i < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		at := indexOf(&out, key.Value)
		switch {
		case at < 0:
			out.Content = append(out.Content, key, value)
		case value.Tag == "!!null":
			out.Content = slices.Delete(out.Content, at-1, at+1)
		default:
			out.Content[at] = merge(out.Content[at], value)
		}
	}
	return &out
}

func mergeLists(below, over *yaml.Node) *yaml.Node {
	out := *below
	out.Content = slices.Clone(below.Content)
	for _, element := range over.Content {
		at := slices.IndexFunc(out.Content, func(n *yaml.Node) bool { return nameOf(n) == nameOf(element) })
		if at < 0 {
			out.Content = append(out.Content, element)
			continue
		}
		out.Content[at] = merge(out.Content[at], element)
	}
	return &out
}

// indexOf returns where the value of a key stands in a mapping, or -1.
func indexOf(mapping *yaml.Node, key string) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// nameOf returns the name of an element of a list, or else its type; "" for neither.
func nameOf(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for _, key := range []string{"name", "type"} {
		if at := indexOf(n, key); at > 0 {
			return n.Content[at].Value
		}
	}
	return ""
}

func named(list *yaml.Node) bool {
	return !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return nameOf(n) == "" })
}

// move is one answer of a model: a text, or calls of tools.
type move struct {
	text  string
	calls []call
}

type call struct {
	id, tool string
	args     map[string]any
}

// moves are what models do, by agent. A list is for the agent root.
type moves map[string][]move

// UnmarshalYAML implements [yaml.Unmarshaler].
func (m *moves) UnmarshalYAML(n *yaml.Node) error {
	*m = make(moves)
	if n.Kind == yaml.SequenceNode {
		return m.add(rootName, n)
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: model: write a list of moves, or a list for each agent", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		if err := m.add(n.Content[i].Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (m *moves) add(agent string, list *yaml.Node) error {
	if list.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: model.%s: write a list of moves", list.Line, agent)
	}
	(*m)[agent] = []move{}
	for _, n := range list.Content {
		next, err := moveOf(n)
		if err != nil {
			return err
		}
		(*m)[agent] = append((*m)[agent], next)
	}
	return nil
}

func moveOf(n *yaml.Node) (mv move, err error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return move{text: n.Value}, nil
	case yaml.MappingNode:
		mv.calls, err = callsOf(n)
		return mv, err
	case yaml.SequenceNode:
		for _, element := range n.Content {
			calls, err := callsOf(element)
			if err != nil {
				return mv, err
			}
			mv.calls = append(mv.calls, calls...)
		}
		return mv, nil
	}
	return mv, fmt.Errorf("line %d: a move is a text, or calls such as {get: {name: Desk}}", n.Line)
}

// callsOf reads {tool: arguments, …}. The key id gives the calls of the mapping an id.
func callsOf(n *yaml.Node) (calls []call, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: a call is a mapping, such as {get: {name: Desk}}", n.Line)
	}
	id := ""
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if key == "id" && value.Kind == yaml.ScalarNode {
			id = value.Value
			continue
		}
		c := call{tool: key}
		if err := value.Decode(&c.args); err != nil {
			return nil, fmt.Errorf("line %d: the arguments of %s are no mapping: %w", value.Line, key, err)
		}
		calls = append(calls, c)
	}
	for i := range calls {
		calls[i].id = id
	}
	return calls, nil
}

// answer is what a person says about a request.
type answer struct {
	// Yes or no.
	Yes bool `yaml:"yes"`
	// To is the number of the request, from 1; the oldest open one where it is left out.
	To int `yaml:"to"`
	// ID is that of a request that somebody forged.
	ID string `yaml:"id"`
	// Change, Reason and Override are words that go with it; Payload is what goes with it beside them.
	Change   string         `yaml:"change"`
	Reason   string         `yaml:"reason"`
	Override string         `yaml:"override"`
	Payload  map[string]any `yaml:"payload"`
}

// answers are answers in one message.
type answers []answer

// UnmarshalYAML implements [yaml.Unmarshaler]: yes, no, a mapping, or a list of these.
func (a *answers) UnmarshalYAML(n *yaml.Node) error {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	for _, n := range list {
		var one answer
		switch {
		case n.Kind == yaml.ScalarNode && n.Value == "yes":
			one.Yes = true
		case n.Kind == yaml.ScalarNode && n.Value == "no":
		case n.Kind == yaml.MappingNode:
			if err := n.Decode(&one); err != nil {
				return err
			}
		default:
			return fmt.Errorf("line %d: an answer is yes, no, or a mapping such as {yes: true, to: 2}", n.Line)
		}
		*a = append(*a, one)
	}
	return nil
}

// lines say how guarded calls end, one each: "executed safe", "blocked drift price_changed".
type lines []string

// UnmarshalYAML implements [yaml.Unmarshaler]: one line, or a list of them.
func (l *lines) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = lines{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*l = list
	return err
}

// duration is written as in a configuration: 90s, 7d.
type duration time.Duration

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := config.ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*d = duration(v)
	return nil
}
