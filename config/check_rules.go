// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

var eventName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func (c *Config) checkExtract(k Key) {
	first := make(map[string]int)
	for i := range c.Extract {
		e, at := &c.Extract[i], k.Index(i)
		e.check(at)
		unique(at.Of(&e.Name), first, e.Name, i)
	}
}

func (e *Extract) check(k Key) {
	name(k.Of(&e.Name), e.Name, "a name for the rule")
	in, event := k.Of(&e.In), k.Of(&e.Event)
	switch {
	case e.Tool == "" && e.Event == "":
		k.Of(&e.Tool).Wrong("neither tool nor event is given", "write the name of the tool whose events the rule reads")
	case e.Tool != "" && e.Event != "":
		event.Wrong("given beside tool", "keep one of them")
	case e.Tool != "":
		name(k.Of(&e.Tool), e.Tool, "the name of a tool")
		if e.In == InContent {
			in.Wrong(string(e.In)+" is not a part of a tool's events", oneOf(InResult, InArgs, InAction))
		}
	default:
		if !eventName.MatchString(e.Event) {
			event.Wrong(Quote(e.Event)+" is not a type of event", "write for example USER_MESSAGE_RECEIVED")
		}
		switch e.In {
		case InResult:
			in.Wrong("the result belongs to a tool, not to an event", "write content, or leave the key out")
		case InArgs, InAction:
			in.Wrong(string(e.In)+" belongs to a tool, not to an event", "write content, or leave it out")
		}
	}
	if e.Each != "" {
		checkPath(k.Of(&e.Each), e.Each)
	}
	entityType(k.Of(&e.Type), e.Type)
	if args := k.Of(&e.ValueArgs); e.ValueArgs != "" {
		switch {
		case e.Value != "":
			args.Wrong("given beside a path in the node", "keep one of them")
		case !e.ReadsResult():
			args.Wrong("the value is taken from the arguments, and the rule does not read a result", "write in: result, or write the path as the value: value: "+e.ValueArgs)
		case e.Each != "" && e.Each != "$":
			args.Wrong("the arguments have one value for all that each selects", "write each: $, or take the value from the node: value: $.id")
		default:
			checkPath(args, e.ValueArgs)
		}
	} else {
		checkPath(k.Of(&e.Value), e.Value)
	}
	checkKind(k.Of(&e.ValueType), k.Of(&e.Currency), e.ValueType, e.Currency)
	for _, attribute := range slices.Sorted(maps.Keys(e.Attributes)) {
		a := e.Attributes[attribute]
		at := k.Of(&e.Attributes).Entry(attribute, &a)
		attributeName(at, attribute)
		checkPath(at.Of(&a.Path), a.Path)
		checkKind(at.Of(&a.Type), at.Of(&a.Currency), a.Type, a.Currency)
		if attribute == entity.Exists && a.Type != entity.KindBool {
			at.Of(&a.Type).Wrong("exists is what a rule without attributes gives, a boolean", "write type: boolean, or another name")
		}
		if a.LookedUp && !e.ReadsResult() && !in.Failed() {
			at.Of(&a.LookedUp).Wrong("the rule does not read a result, where a tool looks things up", "remove it, or write in: result")
		}
	}
	if e.ArtifactURI != "" {
		checkPath(k.Of(&e.ArtifactURI), e.ArtifactURI)
	}
	switch confidence := k.Of(&e.Confidence); {
	case e.Confidence == 0 && confidence.given():
		confidence.Wrong("0 is no confidence at all", "write a number greater than 0 and at most 1, or leave the key out for 1")
	default:
		unit(confidence, &e.Confidence)
	}
	if e.Alternatives && !e.ReadsResult() && !in.Failed() {
		k.Of(&e.Alternatives).Wrong("the rule reads no result, and only a result shows the choices", "remove it, or write in: result")
	}
}

// ReadsResult reports whether the rule reads the result of a tool.
func (e *Extract) ReadsResult() bool { return e.Event == "" && (e.In == "" || e.In == InResult) }

func (c *Config) checkCheckers(k Key) {
	first := make(map[string]int)
	for i := range c.Checkers {
		checker, at := &c.Checkers[i], k.Index(i)
		entityType(at.Of(&checker.Type), checker.Type)
		unique(at.Of(&checker.Type), first, checker.Type, i)
		checker.check(at)
	}
}

// maxCalls bounds [Replay.MaxCalls].
const maxCalls = 1000

// check reports a checker that has not exactly one source, and other faults of it.
func (c *Checker) check(k Key) {
	var given []Key
	if at := k.Of(&c.HTTP); c.HTTP != nil {
		given = append(given, at)
		c.HTTP.check(at)
	}
	if at := k.Of(&c.SQL); c.SQL != nil {
		given = append(given, at)
		c.SQL.check(at)
	}
	if at := k.Of(&c.Replay); c.Replay != nil {
		given = append(given, at)
		if c.Replay.Tool != "" {
			name(at.Of(&c.Replay.Tool), c.Replay.Tool, "the name of a tool")
		}
		if n := c.Replay.MaxCalls; n < 0 || n > maxCalls {
			at.Of(&c.Replay.MaxCalls).Wrong(strconv.Itoa(n)+" is out of range", "write a number from 1 to "+strconv.Itoa(maxCalls))
		}
	}
	switch len(given) {
	case 1:
	case 0:
		k.Of(&c.HTTP).Wrong("missing", "say how to ask: write one of the mappings http, sql or replay")
	default:
		var ways []string
		for _, at := range given {
			ways = append(ways, at.name())
		}
		given[1].Wrong("given beside "+ways[0], "keep one of "+strings.Join(ways, ", ")+": a type has one source")
	}
}

// answered reports a checker that answers nothing.
func answered[T any](k Key, attributes map[string]T) {
	if len(attributes) == 0 {
		k.Wrong("no attribute is given", "name at least one: a checker that answers nothing makes every check fail")
	}
}

func (s *SQL) check(k Key) {
	name(k.Of(&s.Database), s.Database, "the name that code gives the database with WithDatabase")
	if strings.TrimSpace(s.Query) == "" {
		k.Of(&s.Query).Wrong("missing", "write for example SELECT price FROM placements WHERE name = ?")
	}
	for i, arg := range s.Args {
		checkArg(k.Of(&s.Args).Index(i), arg)
	}
	const column = "the name of a column of the query"
	for _, optional := range []*string{&s.AsOf, &s.Version} {
		if *optional != "" {
			name(k.Of(optional), *optional, column)
		}
	}
	answered(k.Of(&s.Attributes), s.Attributes)
	for _, attribute := range slices.Sorted(maps.Keys(s.Attributes)) {
		a := s.Attributes[attribute]
		at := k.Of(&s.Attributes).Entry(attribute, &a)
		attributeName(at, attribute)
		name(at.Of(&a.Column), a.Column, column)
		checkKind(at.Of(&a.Type), at.Of(&a.Currency), a.Type, a.Currency)
	}
}

const (
	minBytesBilled  = 10 << 20 // the least that BigQuery bills for a query
	maxFlushTimeout = 5 * time.Minute
	maxExtractRows  = 100_000
	// maxThinking is the largest thinking budget of a Gemini model, in tokens.
	maxThinking = 32_768
	// maxClustering is how many columns a table can be clustered by:
	// https://cloud.google.com/bigquery/docs/creating-clustered-tables#limitations.
	maxClustering = 4
	maxLabels     = 50 // of 64 that a job may have; the rest are those of contextgraph
)

// What labels may be: https://cloud.google.com/bigquery/docs/labels-intro#requirements,
// without letters of other scripts.
var (
	labelKey   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[a-z0-9_-]{0,63}$`)
)

// clusterable are the columns of the table of events that a table can be clustered by.
func clusterable() []string {
	return []string{
		"timestamp", "event_id", "event_type", "agent", "session_id", "invocation_id", "user_id", "trace_id", "span_id", "parent_span_id",
		"status", "error_message", "is_truncated",
	}
}

func checkClustering(k Key, fields []string) {
	for i, f := range fields {
		switch {
		case !slices.Contains(clusterable(), f):
			k.Index(i).Wrong(Quote(f)+" is not a column that a table can be clustered by", choose(f, clusterable()...))
		case slices.Contains(fields[:i], f):
			k.Index(i).Wrong(Quote(f)+" is there twice", "remove one of them")
		}
	}
	if len(fields) > maxClustering {
		k.Wrong(strconv.Itoa(len(fields))+" columns", "keep at most "+strconv.Itoa(maxClustering))
	}
}

func (b *BigQuery) check(k Key) {
	if !b.Enabled() {
		return
	}
	labels := k.Of(&b.Labels)
	if len(b.Labels) > maxLabels {
		labels.Wrong(strconv.Itoa(len(b.Labels))+" labels", "keep at most "+strconv.Itoa(maxLabels))
	}
	for _, label := range slices.Sorted(maps.Keys(b.Labels)) {
		switch at, value := labels.Entry(label, nil), b.Labels[label]; {
		case !labelKey.MatchString(label) || strings.HasPrefix(label, "sdk"):
			at.Wrong(Quote(label)+" cannot be a label", "use lower-case letters, digits, underscores and hyphens, beginning with a letter and not with sdk")
		case !labelValue.MatchString(value):
			at.Wrong(Quote(value)+" cannot be the value of a label", "use at most 63 lower-case letters, digits, underscores and hyphens")
		}
	}
	checkClustering(k.Of(&b.ClusteringFields), b.ClusteringFields)
	checkSize(k.Of(&b.MaxBytesBilled), b.MaxBytesBilled, minBytesBilled, 0)
	checkDuration(k.Of(&b.Stream.FlushTimeout), b.Stream.FlushTimeout, maxFlushTimeout)
	if n := b.Extract.ThinkingBudget; n < 0 || n > maxThinking {
		k.Of(&b.Extract.ThinkingBudget).Wrong(strconv.Itoa(n)+" is not between 0 and "+strconv.Itoa(maxThinking), "write a number in that range, or leave it out for the default")
	}
	if n := b.Extract.MaxRows; n < 0 || n > maxExtractRows {
		k.Of(&b.Extract.MaxRows).Wrong(strconv.Itoa(n)+" is not between 1 and "+strconv.Itoa(maxExtractRows), "write a number in that range, or leave it out for the default")
	}
	for i, t := range b.Extract.EntityTypes {
		entityType(k.Of(&b.Extract.EntityTypes).Index(i), t)
	}
}
