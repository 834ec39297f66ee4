// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Shows returns what the rules over the results of tools show, in the order of the rules.
func (x *Extractor) Shows() []entity.Shown {
	var out []entity.Shown
	for _, c := range x.overResults() {
		shown := entity.Shown{Type: c.Type, Rule: c.Name, Tool: c.Tool, Place: c.Place}
		if len(c.attributes) == 0 {
			out = append(out, shown)
		}
		for _, a := range c.attributes {
			shown.Attribute = a.name
			out = append(out, shown)
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
