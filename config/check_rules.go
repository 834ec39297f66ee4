// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
)

var eventName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func (c *Config) checkExtract(p *problems) {
	names := make([]string, len(c.Extract))
	for i := range c.Extract {
		names[i] = c.Extract[i].Name
		c.Extract[i].check(p, Index("extract", i))
	}
	p.unique("extract", ".name", names)
}

func (e *Extract) check(p *problems, path string) {
	p.name(path+".name", e.Name, "a name for the rule")
	in := path + ".in"
	word(p, in, e.In, "is not a part of an event", InResult, InArgs, InAction, InContent)
	switch {
	case e.Tool == "" && e.Event == "":
		p.when(true, path+".tool", "neither tool nor event is given", "write the name of the tool whose events the rule reads")
	case e.Tool != "":
		p.when(e.Event != "", path+".event", "given beside tool", "keep one of them")
		p.name(path+".tool", e.Tool, "the name of a tool")
		p.when(e.In == InContent, in, "content is not a part of a tool's events", "write one of: result, args, action")
	default:
		p.when(!eventName.MatchString(e.Event), path+".event", Quote(e.Event)+" is not a type of event", "write for example USER_MESSAGE_RECEIVED")
		p.when(e.In != "" && e.In != InContent, in, string(e.In)+" belongs to a tool, not to an event", "write content, or leave it out")
	}
	p.optionalPath(path+".each", e.Each)
	p.entityType(path+".type", e.Type)
	if args := path + ".value.args"; e.ValueArgs != "" {
		p.when(e.Value != "", args, "given beside a path in the node", "keep one of them")
		p.when(!e.ReadsResult(), args, "the value is taken from the arguments, and the rule does not read a result", "write in: result, or write the path as the value: value: "+e.ValueArgs)
		p.when(e.Each != "" && e.Each != "$", args, "the arguments have one value for all that each selects", "write each: $, or take the value from the node: value: $.id")
		p.jsonPath(args, e.ValueArgs)
	} else {
		p.jsonPath(path+".value", e.Value)
	}
	p.kind(path, "value_type", e.ValueType, e.Currency)
	readsOther := e.Event != "" || e.In == InArgs || e.In == InAction || e.In == InContent
	if e.In == InAction {
		p.plain(path+".each", cmp.Or(e.Each, "$"))
		p.plain(path+".value", e.Value)
	}
	p.when(e.Optional && e.In != InAction, path+".optional", "the rule does not read the arguments of an action", "remove it, or write in: action")
	sorted(path+".attributes", e.Attributes, func(at, attribute string, a Attribute) {
		p.attribute(at, attribute)
		p.valuePath(at+".path", a.Path, a.Type)
		p.kind(at, "type", a.Type, a.Currency)
		p.when(attribute == entity.Exists && a.Type != entity.KindBool, at+".type", "exists is what a rule without attributes gives, a boolean", "write type: boolean, or another name")
		p.when(a.LookedUp && readsOther, at+".looked_up", "the rule does not read a result, where a tool looks things up", "remove it, or write in: result")
	})
	p.optionalPath(path+".artifact_uri", e.ArtifactURI)
	p.between(path+".confidence", e.Confidence, 0, 1)
	word(p, path+".others", e.Others, "is not an answer to what others mean", OthersCount, OthersIgnore)
	p.when(e.Others != "" && readsOther, path+".others", "the rule reads no result, and only a result shows others", "remove it, or write in: result")
	p.when(e.Others == OthersCount && e.ValueArgs != "", path+".others", "the value is taken from the arguments, so the result names nothing", "remove it, or take the value from the node: value: $.id")
	p.when(e.FromClient && readsOther, path+".from_client", "the rule reads no result, and a client answers a call with one", "remove it, or write in: result")
	p.when(e.Alternatives && readsOther, path+".alternatives", "the rule reads no result, and only a result shows the choices", "remove it, or write in: result")
}

// ReadsResult reports whether the rule reads the result of a tool.
func (e *Extract) ReadsResult() bool { return e.Event == "" && (e.In == "" || e.In == InResult) }

func (c *Config) checkCheckers(p *problems) {
	types := make([]string, len(c.Checkers))
	for i := range c.Checkers {
		types[i] = c.Checkers[i].Type
		c.Checkers[i].check(p, Index("checkers", i))
	}
	p.unique("checkers", ".type", types)
}

// maxCalls bounds [Replay.MaxCalls].
const maxCalls = 1000

// check reports a checker that has not exactly one source, and other faults of it.
func (c *Checker) check(p *problems, path string) {
	p.entityType(path+".type", c.Type)
	var ways []string
	if c.HTTP != nil {
		ways = append(ways, "http")
		c.HTTP.check(p, path+".http.")
	}
	if c.SQL != nil {
		ways = append(ways, "sql")
		c.SQL.check(p, path+".sql.")
	}
	if c.Replay != nil {
		ways = append(ways, "replay")
		if c.Replay.Tool != "" {
			p.name(path+".replay.tool", c.Replay.Tool, "the name of a tool")
		}
		p.count(path+".replay.max_calls", c.Replay.MaxCalls, maxCalls)
	}
	p.when(len(ways) == 0, path+".http", "missing", "say how to ask: write one of the mappings http, sql or replay")
	if len(ways) > 1 {
		p.when(true, path+"."+ways[1], "given beside "+ways[0], "keep one of "+strings.Join(ways, ", ")+": a type has one source")
	}
}
