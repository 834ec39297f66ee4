// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RowError says why a row gave no entities.
type RowError struct {
	EventID string
	// TechNode is the key of the span that the row belongs to.
	TechNode string
	// Rule is the rule that failed; empty when the row itself could not be read or
	// a declared entity is wrong.
	Rule string
	Err  error
}

// Error returns the row, the rule and the reason.
func (e *RowError) Error() string {
	if e.Rule == "" {
		return fmt.Sprintf("row %s: %v", e.EventID, e.Err)
	}
	return fmt.Sprintf("row %s: rule %q: %v", e.EventID, e.Rule, e.Err)
}

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// rowRead is what one row gave.
type rowRead struct {
	entities []entity.Entity
	// ends are the places in entities at which each declaration, and what each rule found, ends. clients says of each
	// whether a client may answer it.
	ends    []int
	clients []bool
	// named says where the arguments of an action name them.
	named mentions
	// relevant: a rule or a declaration concerns the row.
	relevant bool
	// rule that failed, for the error.
	rule string
	// rules says what each rule found that read the row.
	rules []ruleRead
	// choices are the sightings of types that a rule with Alternatives finds.
	choices []choice
	// lost are the matches that gave nothing.
	lost []lost
}

// row finds the entities of a row. began is the content of the row that began the call which e ends;
// nil where the record does not have it. pending has what the call declared, as [declared] takes it.
//
// Entities come from the declarations of tools and from the rules. Both are exact. Of a match whose value cannot be
// read the rule gives nothing, an attribute that cannot be read is [entity.Unreadable], and no other match is affected.
//
// What a tool declares stands in rows before the one that ends its call. It counts as if it stood in
// that one, and not at all if the call never ended.
//
// A failed tool has no result. Rules over results skip TOOL_COMPLETED rows with the status ERROR,
// and those whose result is null or an object with "error" alone. The framework reports a failed or
// a refused call so.
//
// An entity that one source has several times in one row is one. Declarations come first, then the
// rules in their order; the later one wins, attribute by attribute, and the confidence is the
// greatest. Declarations that contradict each other are an error; an attribute of which matches of one rule say
// different things cannot be read. The exception is the numbers of an action: they say how many are wanted.
func (x *Extractor) row(e *record.Event, began []byte, pending []json.RawMessage) (rowRead, error) {
	var read rowRead
	if e.EventType == record.EntitiesDeclared {
		read.relevant = true
		if err := new(schema.Attributes).Read(e.Attributes); err != nil {
			return read, err
		}
	}
	if endsCall(e.EventType) || len(pending) > 0 {
		declared, told, err := declared(e, pending)
		read.relevant = err != nil || len(declared)+len(told) > 0
		if err != nil {
			return read, err
		}
		read.choices = x.choose(read.choices, nil, declared, nil)
		asked, err := x.asked(e)
		if err != nil {
			return read, err
		}
		for _, part := range [...][]entity.Entity{declared, told, asked} {
			read.add(part, false)
		}
	}
	rules := x.rulesFor(e)
	if len(rules) == 0 || bringsResults(e) {
		return read, nil
	}
	docs := documents{marked: jsonenc.Marked(string(e.Content)), began: began}
	read.named = make(mentions)
	for _, c := range rules {
		doc, applies, err := docs.of(e, c)
		if applies || err != nil {
			read.relevant = true
		}
		if err == nil && applies {
			var found []entity.Entity
			var missed []lost
			if doc, err = c.opened(doc); err == nil {
				found, missed, err = c.apply(e, doc, docs.marked, read.named)
			} else { // more than one thing may be lost
				missed, err = []lost{{rule: c, err: err, why: (&RowError{EventID: e.EventID, Rule: c.Name, Err: err}).Error(), hidden: true}}, nil
			}
			read.lost = append(read.lost, missed...)
			if err == nil {
				err = docs.classify(e, c, found)
			}
			read.choices = x.choose(read.choices, c, found, docs.args)
			read.add(found, c.FromClient)
			r := ruleRead{rule: c, found: len(found), lost: len(missed), flaw: c.flaw(found, missed)}
			if err == nil {
				r.set, err = c.set(e, &docs, found)
			}
			if len(found) == 0 {
				r.nearly = nearly(c.each, doc)
			}
			read.rules = append(read.rules, r)
		}
		if err != nil {
			read.rule = c.Name
			return read, err
		}
	}
	for i := range read.entities {
		e := &read.entities[i]
		e.Repeats = max(0, len(read.named[thingOf(*e)].values)-1)
	}
	return read, nil
}

// add adds a part.
func (r *rowRead) add(part []entity.Entity, fromClient bool) {
	if len(part) > 0 {
		r.entities = append(r.entities, part...)
		r.ends, r.clients = append(r.ends, len(r.entities)), append(r.clients, fromClient)
	}
}

// parts returns what each declaration and each rule gave. Two rules may read one attribute at two places:
// both values were read.
func (r *rowRead) parts() (parts [][]entity.Entity) {
	from := 0
	for _, end := range r.ends {
		parts = append(parts, slices.Clone(r.entities[from:end]))
		from = end
	}
	return parts
}

// given makes the readings prove nothing. In the answer of a client to an open call those by rules that allow it
// stay.
func (r *rowRead) given(answers bool) {
	from := 0
	for part, end := range r.ends {
		for i := from; i < end; i++ {
			if e := &r.entities[i]; e.Source.Reading() && !(answers && r.clients[part]) {
				e.Source = entity.SourceGiven
			}
		}
		from = end
	}
}

// empty reports whether an object has neither the value nor any attribute.
func (c *compiled) empty(object any, marked bool) bool {
	paths := []*jsonpath.Path{c.value}
	for _, a := range c.attributes {
		paths = append(paths, a.path)
	}
	for _, p := range paths {
		if p != nil && (marked && hidden(p, object) || slices.ContainsFunc(p.Select(object), func(v any) bool { return v != nil })) {
			return false
		}
	}
	return true
}

// flaw returns why a part of what a rule should have found cannot be read, "" if it can.
func (c *compiled) flaw(found []entity.Entity, missed []lost) string {
	for _, l := range missed {
		return l.err.Error()
	}
	for _, e := range found {
		for _, v := range e.Attributes {
			if why, bad := v.Unreadable(); bad {
				return strings.TrimPrefix(why, fmt.Sprintf("rule %q: ", c.Name))
			}
		}
	}
	return ""
}

// rulesFor returns the rules that read a row.
func (x *Extractor) rulesFor(e *record.Event) []*compiled {
	switch {
	case x == nil:
		return nil
	case e.EventType == record.ToolResultRewritten: // also as the row of the result
		results := slices.DeleteFunc(slices.Clone(x.byEvent[record.ToolCompleted]), func(c *compiled) bool { return c.In != config.InResult })
		return append(results, x.byEvent[e.EventType]...)
	}
	return x.byEvent[e.EventType]
}

// documents decodes the content of one row, each part at most once.
type documents struct {
	split bool
	// marked says that the content has marks in the place of parts that were left out.
	marked bool
	// began is the content of the row that began the call, args the scalars in its arguments.
	began []byte
	args  *arguments
	tool  struct {
		Tool   string          `json:"tool"`
		Origin string          `json:"tool_origin"`
		Args   json.RawMessage `json:"args"`
		Result json.RawMessage `json:"result"`
	}
	decoded map[config.In]any
}

// of returns the document that c reads in e; false when c does not concern e.
func (d *documents) of(e *record.Event, c *compiled) (doc any, applies bool, err error) {
	if e.Content == nil {
		return nil, false, errors.New("the row has no content")
	}
	raw := json.RawMessage(e.Content)
	if c.In != config.InContent {
		if !d.split {
			if err := json.Unmarshal(e.Content, &d.tool); err != nil {
				return nil, false, fmt.Errorf("content is not the JSON of a tool row: %w", err)
			}
			if d.tool.Tool == "" {
				return nil, false, errors.New("content does not name the tool")
			}
			d.split = true
		}
		if d.tool.Tool != c.Tool {
			return nil, false, nil
		}
		part := "args"
		if raw = d.tool.Args; c.In == config.InResult {
			if e.Status == record.StatusError {
				return nil, false, nil
			}
			raw, part = d.tool.Result, "result"
		}
		if raw == nil {
			return nil, true, fmt.Errorf("content has no %s of the tool", part)
		}
	}
	doc, known := d.decoded[c.In]
	if !known {
		if doc, err = decode(raw); err != nil {
			return nil, true, fmt.Errorf("content is not JSON: %w", err)
		}
		if c.In == config.InAction || c.In == config.InArgs {
			if opened, err := text.OpenTexts(doc); err == nil { // no call runs where it cannot be opened
				doc = opened
			}
		}
		if d.decoded == nil {
			d.decoded = make(map[config.In]any)
		}
		d.decoded[c.In] = doc
	}
	if c.In == config.InResult && isNoResult(doc) {
		return nil, false, nil
	}
	return doc, true, nil
}

// decode reads one JSON value with its numbers as they are written.
func decode(raw []byte) (doc any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return doc, nil
}

// isNoResult reports whether a tool's result says that the tool did not do its work.
func isNoResult(doc any) bool {
	m, ok := doc.(map[string]any)
	if !ok {
		return doc == nil
	}
	_, failed := m["error"]
	return failed && len(m) == 1
}

// apply finds the entities of one rule in one document. Where an action names them is added to named. A match whose
// value cannot be read is lost; an attribute that cannot be read is [entity.Unreadable]. In the arguments of an action
// both are errors.
func (c *compiled) apply(row *record.Event, doc any, marked bool, named mentions) (out []entity.Entity, missed []lost, err error) {
	action, rewritten := c.In == config.InAction, row.EventType == record.ToolResultRewritten
	lose := func(err error) {
		missed = append(missed, lost{rule: c, err: err, why: (&RowError{EventID: row.EventID, Rule: c.Name, Err: err}).Error(), hidden: errors.Is(err, errHidden)})
	}
	if marked && hidden(c.each, doc) {
		err := fmt.Errorf("each %s: %w (the result of %s)", c.Each, errHidden, c.Tool)
		if action {
			return nil, nil, err
		}
		lose(err)
	}
	first := make(map[thing]entity.Entity)
	for i, object := range c.objects(doc) {
		if action {
			if value := c.value.Select(object.Node); len(value) == 0 || len(value) == 1 && (value[0] == nil || exact(value[0]) != nil) {
				continue // it names nothing here; a call with a number that is not exact was refused
			}
		}
		e, err := c.entity(row, object.Node, marked, action || rewritten)
		if err == nil && action {
			err = agree(first, e)
		}
		if err != nil {
			err = fmt.Errorf("match %d of each %s: %w", i+1, c.Each, err)
		}
		switch {
		case err == nil:
		case action:
			return nil, nil, err
		case rewritten && !errors.Is(err, errHidden): // callbacks shorten old results
			continue
		default:
			lose(err)
			missed[len(missed)-1].nothing = c.eachOne && c.empty(object.Node, marked)
			continue
		}
		if flaw := c.flaw([]entity.Entity{e}, nil); flaw != "" && c.valueArgs != nil && c.eachOne && c.empty(object.Node, marked) {
			lose(errors.New(flaw))
			missed[len(missed)-1].nothing, missed[len(missed)-1].about = true, e.Identity()
			continue
		}
		if action {
			// There is one: the entity has its value from it.
			for _, value := range c.value.SelectLocated(object.Node) {
				named.add(e, object.Path.String(), object.Path.Pointer()+value.Path.Pointer())
			}
		} else {
			contradict(first, e)
		}
		out = append(out, e)
	}
	return out, missed, nil
}

const limits = "when it was recorded: a text has at most record.max_string, a row record.max_row"

var (
	errHidden = errors.New("it looks into what was redacted or left out " + limits)
	errCut    = errors.New("it was cut " + limits)
)

func (c *compiled) objects(doc any) jsonpath.LocatedNodeList {
	located := c.each.SelectLocated(doc)
	if !c.eachOne {
		// Members of an object come in no order; their places in the document do.
		located.Sort()
	}
	return located
}

// entity reads one match. If strict, an attribute that cannot be read is an error.
func (c *compiled) entity(row *record.Event, object any, marked, strict bool) (entity.Entity, error) {
	e := entity.Entity{Type: c.Type, Confidence: c.Confidence, Source: c.source}
	v, err := c.named(row, object)
	if err != nil {
		return e, err
	}
	e.Value = v.String()
	if v.Kind() != entity.KindText {
		e.Norm = v
	}
	for _, a := range c.attributes {
		raw, found, err := a.of(object)
		switch {
		case marked && a.Type == entity.KindSet && hidden(a.path, object):
			err = errHidden
		case err != nil:
		case isCut(raw):
			err = errHidden
		case found && raw != nil:
			if err = exact(raw); err == nil {
				v, err = entity.FromAny(raw, a.Type, a.Currency)
			}
			switch {
			case marked && v.Kind() == entity.KindSet && jsonenc.Marked(v.String()):
				err = errHidden
			case err == nil && v.Kind() != entity.KindSet && len(v.String()) > entity.MaxValue:
				err = fmt.Errorf("it is longer than %d bytes", entity.MaxValue)
			}
		case marked && hidden(a.path, object):
			err = errHidden
		case a.Optional:
			if c.In == config.InResult {
				e.Absent = append(e.Absent, a.name)
			}
			continue
		case found:
			err = errors.New("it is null; an attribute that may be missing is optional")
		default:
			err = nothing(a.path, object, "; an attribute that may be missing is optional")
		}
		if err != nil {
			if err = fmt.Errorf("attribute %s %s: %w", a.name, a.Path, err); strict {
				return e, err
			}
			v = entity.Unreadable(text.Clip(fmt.Sprintf("rule %q: %v", c.Name, err), entity.MaxValue))
			if errors.Is(err, errHidden) {
				v = entity.Unreadable(text.Clip(fmt.Sprintf("rule %q: %v (the result of %s in row %s)", c.Name, err, c.Tool, row.EventID), entity.MaxValue))
			}
		}
		if e.Attributes == nil {
			e.Attributes = make(map[string]entity.Value, len(c.attributes))
		}
		e.Attributes[a.name] = v
	}
	if c.artifact != nil {
		raw, _, err := selectOne(c.artifact, object)
		uri, isText := raw.(string)
		if err == nil && raw != nil && !isText {
			err = errors.New("it is not a text")
		}
		if err != nil {
			return e, fmt.Errorf("artifact_uri %s: %w", c.ArtifactURI, err)
		}
		e.ArtifactURI = uri
	}
	return e, e.Validate()
}

// of returns what an object of a row has of the attribute; false when it has nothing.
func (a *compiledAttribute) of(object any) (raw any, found bool, err error) {
	if a.Type != entity.KindSet {
		return selectOne(a.path, object)
	}
	list, found, err := paths.Elements(a.path, object)
	if list == nil {
		list = []any{} // found, and empty
	}
	return list, found, err
}

// named returns the value of the thing in an object of a row.
func (c *compiled) named(row *record.Event, object any) (v entity.Value, err error) {
	from, path, place := object, c.value, c.Value
	if c.valueArgs != nil {
		path, place = c.valueArgs, "args "+c.ValueArgs
		from, err = argsAtEnd(row)
	}
	var raw any
	found := false
	if err == nil {
		raw, found, err = selectOne(path, from)
	}
	if err == nil && !found {
		err = nothing(path, from, "")
	}
	if err == nil && isCut(raw) {
		err = errCut
	}
	if err == nil {
		err = exact(raw)
	}
	if err == nil {
		v, err = entity.FromAny(raw, c.ValueType, c.Currency)
	}
	if err != nil {
		return v, fmt.Errorf("value %s: %w", place, err)
	}
	return v, nil
}

// exact returns an error for a number of 2^53 and more that came as a float64: it may have been another one. The
// recorder writes it with an exponent, and an integer without.
func exact(v any) (err error) {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && math.Abs(f) >= 1<<53 && strings.ContainsAny(v.String(), "eE") {
			return fmt.Errorf("the number %s is too large to be exact: have the tool give it as text", v)
		}
	case []any:
		for _, e := range v {
			err = cmp.Or(err, exact(e))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			err = cmp.Or(err, exact(v[k]))
		}
	}
	return err
}

// nothing returns the error for a path that selects nothing.
func nothing(p *jsonpath.Path, object any, remedy string) error {
	if near := nearly(p, object); near != "" {
		remedy = "; " + near + remedy
	}
	return errors.New("it selects nothing" + remedy)
}

// selectOne returns the one node that p selects; false when there is none.
func selectOne(p *jsonpath.Path, object any) (node any, found bool, err error) {
	switch nodes := p.Select(object); len(nodes) {
	case 0:
		return nil, false, nil
	case 1:
		return nodes[0], true, nil
	default:
		return nil, false, fmt.Errorf("it selects %d nodes instead of one", len(nodes))
	}
}

func isTool(eventType string) bool { return eventType == record.ToolStarting || endsCall(eventType) }

// endsCall reports whether rows of the type end a call of a tool.
func endsCall(eventType string) bool {
	return eventType == record.ToolCompleted || eventType == record.ToolError
}
