// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package propose

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

const heading = `# A draft made by contextgraph init --from, from the calls of one session. Read and correct it:
#   types and values    is this what the plan rests on? Delete the rules that are not about it.
#   attributes          must they still hold when the plan runs? Delete those that may change.
#   checkers            where can the present value be read?
# "contextgraph rules SESSION" shows what the rules find, "contextgraph doctor" what is wrong.
`

// document is the draft in the form of a configuration.
type document struct {
	Journal  map[string]string `yaml:"journal"`
	Guard    *yaml.Node        `yaml:"guard,omitempty"`
	Extract  []*yaml.Node      `yaml:"extract,omitempty"`
	Checkers []*yaml.Node      `yaml:"checkers,omitempty"`
}

// yaml writes the draft.
func (d *draft) yaml() []byte {
	var b bytes.Buffer
	b.WriteString(heading)
	doc := document{Journal: map[string]string{"path": "contextgraph.db"}}
	if len(d.guarded) == 0 {
		b.WriteString("# No tool asked for an approval in this session. Name those that must not run without one:\n# guard:\n#   tools: {pay: {}}\n")
	} else {
		tools := make(map[string]struct{})
		for _, tool := range d.guarded {
			tools[tool] = struct{}{}
		}
		doc.Guard = nodeOf(map[string]any{"tools": tools})
		member(doc.Guard, "tools").Style = yaml.FlowStyle
		comment(doc.Guard, "tools", "they asked for an approval; each call of them needs one")
	}
	if len(d.rules) == 0 {
		b.WriteString("# No result had an object with a name or an id, so there is no rule.\n")
	}
	ruled := make(map[string]bool)
	for i := range d.rules {
		ruled[d.rules[i].Tool] = true
		doc.Extract = append(doc.Extract, d.rules[i].node())
	}
	for _, c := range d.calls {
		if d.declares[c.tool] || ruled[c.tool] {
			continue
		}
		ruled[c.tool] = true
		why := "no object in its results has a name or an id; write one if a plan can rest on them"
		if slices.Contains(d.guarded, c.tool) {
			why = "no argument of its calls names what a result showed; each of its calls fails its check without one, or without acts_on: nothing"
		}
		fmt.Fprintf(&b, "# There is no rule for %s: %s.\n", oneLine(c.tool), why)
	}
	doc.Checkers = d.checkers()
	b.WriteString("\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	_ = e.Encode(doc) // to memory
	return bytes.Map(func(r rune) rune {
		if r != '\n' && text.Visible(string(r)) != string(r) {
			return unicode.ReplacementChar // a terminal would obey it
		}
		return r
	}, b.Bytes())
}

func (r *rule) node() *yaml.Node {
	left := make(map[string]string)
	kept := *r
	kept.Attributes = make(map[string]attribute)
	for name, a := range r.Attributes {
		switch {
		case a.echo:
			a.LookedUp = true
			left[name] = inline(a) + " (an argument of the call has it too: keep it if the tool looks it up)"
		case a.moves:
			left[name] = inline(a) + " (it seems to change by itself)"
		default:
			kept.Attributes[name] = a
		}
	}
	n := nodeOf(kept)
	inFlow(member(n, "attributes"))
	comment(n, "in", "the arguments of the call: they name things that results have shown")
	comment(n, "alternatives", "the list is a choice; only the chosen one must be unchanged")
	for _, name := range slices.Sorted(maps.Keys(left)) {
		n.HeadComment += "# left out: " + oneLine(name+": "+left[name]) + "\n"
	}
	return n
}

// checker is the draft of a checker of a type.
type checker struct {
	Type string `yaml:"type"`
	HTTP struct {
		URL        string               `yaml:"url"`
		AsOf       string               `yaml:"as_of"`
		Attributes map[string]attribute `yaml:"attributes"`
	} `yaml:"http"`
}

// checkers returns a checker for each type.
func (d *draft) checkers() (out []*yaml.Node) {
	types, tools := make(map[string]map[string]attribute), make(map[string]string)
	for typ, attributes := range d.declared {
		types[typ] = make(map[string]attribute)
		for name, v := range attributes {
			types[typ][name] = attributeOf(name, v.Kind(), v.Currency())
		}
	}
	for _, r := range d.rules {
		if r.In != "" {
			continue
		}
		if types[r.Type] == nil {
			types[r.Type] = make(map[string]attribute)
		}
		for name, a := range r.Attributes {
			if _, is := types[r.Type][name]; !is && !a.echo && !a.moves {
				a.Optional = false
				types[r.Type][name] = a
			}
		}
		tools[r.Type] = r.Tool
	}
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		c := checker{Type: typ}
		c.HTTP.URL, c.HTTP.AsOf, c.HTTP.Attributes = "http://127.0.0.1:8080/"+strings.ToLower(typ)+"/{value}", "fetch", types[typ]
		if len(types[typ]) == 0 {
			c.HTTP.Attributes = map[string]attribute{entity.Exists: {Path: "$", Type: entity.KindBool.String()}}
		}
		n := nodeOf(c)
		http := member(n, "http")
		inFlow(member(http, "attributes"))
		comment(http, "url", "where the present "+oneLine(typ)+" can be read")
		if tools[typ] != "" {
			n.HeadComment = "# or replay: {tool: " + oneLine(tools[typ]) + "}, registered with cg.Replayable"
		}
		out = append(out, n)
	}
	return out
}

func nodeOf(v any) *yaml.Node {
	n := new(yaml.Node)
	_ = n.Encode(v) // what a draft is made of can always be encoded
	return n
}

// inline returns v as YAML in one line.
func inline(v any) string {
	n := nodeOf(v)
	n.Style = yaml.FlowStyle
	text, _ := yaml.Marshal(n)
	return strings.TrimSpace(string(text))
}

// member returns the value of a key of a mapping; nil if it lacks the key.
func member(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// comment adds a comment behind the value of a key, if there is one.
func comment(n *yaml.Node, key, text string) {
	if v := member(n, key); v != nil {
		v.LineComment = "# " + text
	}
}

// inFlow writes each value of a mapping in one line.
func inFlow(n *yaml.Node) {
	if n != nil {
		for i := 1; i < len(n.Content); i += 2 {
			n.Content[i].Style = yaml.FlowStyle
		}
	}
}

// oneLine is a text in a comment, which ends with the line.
func oneLine(s string) string { return strings.Join(strings.Fields(text.Visible(s)), " ") }
