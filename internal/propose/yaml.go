// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package propose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

const heading = `# A draft made by contextgraph init --from, from the calls of one session. Read and correct it:
#   types and values    is this what the plan rests on? Delete the rules that are not about it.
#   attributes          must they still hold when the plan runs? Delete those that may change.
#   checkers            where can the present value be read?
# "contextgraph rules SESSION" shows what the rules find, "contextgraph doctor" what is wrong.

`

// yaml writes the draft.
func (d *draft) yaml() []byte {
	var b bytes.Buffer
	b.WriteString(heading)
	b.WriteString("journal:\n  path: contextgraph.db\n\n")
	d.guard(&b)
	if len(d.rules) > 0 {
		b.WriteString("extract:\n")
	} else {
		b.WriteString("# No result had an object with a name or an id, so there is no rule.\n")
	}
	for _, r := range d.rules {
		r.write(&b)
	}
	left := make(map[string]bool)
	for _, c := range d.calls {
		if !d.declares[c.tool] && !slices.ContainsFunc(d.rules, func(r rule) bool { return r.tool == c.tool }) {
			left[c.tool] = true
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(left)) {
		why := "no object in its results has a name or an id; write one if a plan can rest on them"
		if slices.Contains(d.guarded, tool) {
			why = "no argument of its calls names what a result showed; each of its calls fails its check without one, or without acts_on: nothing"
		}
		fmt.Fprintf(&b, "# There is no rule for %s: %s.\n", scalarYAML(tool), why)
	}
	d.checkers(&b)
	return b.Bytes()
}

func (d *draft) guard(b *bytes.Buffer) {
	if len(d.guarded) == 0 {
		b.WriteString("# No tool asked for an approval in this session. Name those that must not run without one:\n# guard:\n#   tools: {pay: {}}\n\n")
		return
	}
	quoted := make([]string, len(d.guarded))
	for i, name := range d.guarded {
		quoted[i] = scalarYAML(name) + ": {}"
	}
	fmt.Fprintf(b, "guard:\n  tools: {%s}     # they asked for an approval; each call of them needs one\n\n", strings.Join(quoted, ", "))
}

func (r *rule) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "  - name: %s\n    tool: %s\n", scalarYAML(r.name), scalarYAML(r.tool))
	if r.action {
		b.WriteString("    in: action               # the arguments of the call: they name things that results have shown\n")
	}
	if r.each != "$" {
		fmt.Fprintf(b, "    each: %s\n", scalarYAML(r.each))
	}
	fmt.Fprintf(b, "    type: %s\n    value: %s\n", scalarYAML(r.typ), scalarYAML(r.value))
	if r.kind == entity.KindMoney {
		fmt.Fprintf(b, "    value_type: money\n    currency: %s\n", r.currency)
	}
	if r.alternatives {
		b.WriteString("    alternatives: true       # the list is a choice; only the chosen one must be unchanged\n")
	}
	used := slices.ContainsFunc(r.attributes, func(a attribute) bool { return !a.echo && !a.moves })
	if used {
		b.WriteString("    attributes:\n")
	} else if len(r.attributes) > 0 {
		b.WriteString("    # attributes:\n")
	}
	for _, a := range r.attributes {
		switch line := a.yaml(""); {
		case a.echo:
			fmt.Fprintf(b, "    #  %s: %s   # an argument of the call has it too: keep it if the tool looks it up\n", scalarYAML(a.name), a.yaml(", looked_up: true"))
		case a.moves:
			fmt.Fprintf(b, "    #  %s: %s   # seems to change by itself\n", scalarYAML(a.name), line)
		default:
			fmt.Fprintf(b, "      %s: %s\n", scalarYAML(a.name), line)
		}
	}
	if r.artifact != "" {
		fmt.Fprintf(b, "    artifact_uri: %s\n", scalarYAML(r.artifact))
	}
	b.WriteString("\n")
}

func (a *attribute) yaml(more string) string {
	s := "{path: " + scalarYAML(a.path)
	if a.kind != entity.KindText {
		s += ", type: " + a.kind.String()
	}
	if a.kind == entity.KindMoney {
		s += ", currency: " + a.currency
	}
	if a.optional {
		s += ", optional: true"
	}
	return s + more + "}"
}

// checkers writes a checker for each type.
func (d *draft) checkers(b *bytes.Buffer) {
	types := make(map[string][]attribute)
	tools := make(map[string]string)
	for typ, attributes := range d.declared {
		types[typ] = nil
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			v := attributes[name]
			types[typ] = append(types[typ], attribute{name: name, path: "$" + step(name), kind: v.Kind(), currency: v.Currency()})
		}
	}
	for _, r := range d.rules {
		if r.action {
			continue
		}
		types[r.typ] = append(types[r.typ], slices.DeleteFunc(slices.Clone(r.attributes), func(a attribute) bool {
			return a.echo || a.moves || slices.ContainsFunc(types[r.typ], func(b attribute) bool { return a.name == b.name })
		})...)
		tools[r.typ] = r.tool
	}
	if len(types) == 0 {
		return
	}
	b.WriteString("checkers:\n")
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(b, "  - type: %s\n", scalarYAML(typ))
		if tools[typ] != "" {
			fmt.Fprintf(b, "    # replay: {tool: %s}   # in place of http: call the tool again; the program registers it with cg.Replayable\n", scalarYAML(tools[typ]))
		}
		fmt.Fprintf(b, "    http:\n      url: http://127.0.0.1:8080/%s/{value}   # where the present %s can be read\n      as_of: fetch\n", strings.ToLower(typ), typ)
		if len(types[typ]) > 0 {
			b.WriteString("      attributes:\n")
		} else {
			b.WriteString("      attributes: {exists: {path: $, type: boolean}}\n")
		}
		for _, a := range types[typ] {
			a.optional = false
			fmt.Fprintf(b, "        %s: %s\n", scalarYAML(a.name), a.yaml(""))
		}
		b.WriteString("\n")
	}
}

// scalarYAML returns a text as YAML reads it back.
func scalarYAML(s string) string {
	if !safeScalar(s) {
		quoted, _ := json.Marshal(s) // JSON is YAML
		return string(text.EscapeJSON(quoted))
	}
	return s
}

// safeScalar reports whether a text needs no quotes, also inside of a flow.
func safeScalar(s string) bool {
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s, ",{}#&!|>'\"%@`:?\\\n\t") || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "*") || strings.HasPrefix(s, "[") || text.Visible(s) != s {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "~":
		return false
	}
	return s[0] < '0' || s[0] > '9'
}
