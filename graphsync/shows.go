// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Shown says that a rule shows an attribute of a type in the results of a tool.
type Shown struct {
	Type string
	// Attribute is "" for a rule without attributes.
	Attribute string
	Rule      string
	// Tool is "" for a rule over the whole content of TOOL_COMPLETED, for any tool.
	Tool string
}

// Shows returns what the rules over the results of tools show, in the order of the rules.
func (x *Extractor) Shows() []Shown {
	var out []Shown
	for _, c := range x.overResults() {
		if len(c.attributes) == 0 {
			out = append(out, Shown{Type: c.Type, Rule: c.Name, Tool: c.Tool})
		}
		for _, a := range c.attributes {
			out = append(out, Shown{Type: c.Type, Attribute: a.name, Rule: c.Name, Tool: c.Tool})
		}
	}
	return out
}

// ArgsAtEnd reports whether a rule over the results of a tool needs the arguments of the
// call as they were at its end.
func (x *Extractor) ArgsAtEnd(tool string) bool {
	return slices.ContainsFunc(x.overResults(), func(c *compiled) bool { return c.valueArgs != nil && c.Tool == tool })
}

func (x *Extractor) overResults() []*compiled {
	if x == nil {
		return nil
	}
	return x.byEvent[record.ToolCompleted]
}
