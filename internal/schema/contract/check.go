// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Producer is who wrote a row.
type Producer int

const (
	// Ours is this module.
	Ours Producer = iota
	// Python is the plugin for Python.
	Python
)

// Finding is one thing in a row that the contract does not allow.
type Finding struct {
	EventType string
	// Where is a column, or a column and a path.
	Where     string
	Want, Got string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: want %s, got %s", f.EventType, f.Where, f.Want, f.Got)
}

// Check returns what in the row, written by the producer, is not as the contract has
// it; nothing when all is.
func (s *Shapes) Check(e *record.Event, by Producer) []Finding {
	c := &checker{row: e, by: by}
	c.columns()
	i := slices.IndexFunc(s.Events, func(x Event) bool { return x.Type == e.EventType })
	switch {
	case i < 0:
		c.add("event_type", "a type of the contract", e.EventType)
		return c.findings
	case by == Python && s.Events[i].Own != "":
		c.add("event_type", "a type of the Python plugin", e.EventType)
		return c.findings
	}
	f, ok := c.form(s.Events[i].Forms)
	if !ok {
		c.add("row", "a form of the type", "none that applies")
		return c.findings
	}
	c.column("content", e.Content, f.Content)
	c.column("content_parts", e.ContentParts, s.ContentParts)
	c.column("attributes", e.Attributes, s.Common, f.Attributes)
	c.column("latency_ms", e.LatencyMS, f.Latency)
	status := f.Status.Need
	if by == Ours && f.Status.Ours != nil {
		status = f.Status.Ours
	}
	if !slices.Contains(status, e.Status) {
		c.add("status", strings.Join(status, " or "), strconv.Quote(e.Status))
	}
	c.rule("error_message", f.ErrorMessage, e.ErrorMessage != "", e.ErrorMessage)
	c.rule("content_parts", f.ContentParts, e.ContentParts != nil, string(e.ContentParts))
	return c.findings
}

type checker struct {
	row      *record.Event
	by       Producer
	findings []Finding
}

func (c *checker) add(where, want, got string) {
	c.findings = append(c.findings, Finding{c.row.EventType, where, want, got})
}

// columns checks what holds for the plain columns of any row.
func (c *checker) columns() {
	e := c.row
	if c.by == Python {
		return // its ids are those of the trace at hand
	}
	for _, x := range []struct {
		name, value string
		digits      int
		empty       bool
	}{
		{"event_id", e.EventID, 32, false},
		{"trace_id", e.TraceID, 32, false},
		{"span_id", e.SpanID, 16, false},
		{"parent_span_id", e.ParentSpanID, 16, true},
	} {
		if !(x.empty && x.value == "") && (len(x.value) != x.digits || strings.Trim(x.value, "0123456789abcdef") != "") {
			c.add(x.name, fmt.Sprintf("%d hexadecimal digits", x.digits), strconv.Quote(x.value))
		}
	}
	if e.Timestamp <= 0 {
		c.add("timestamp", "a time", strconv.FormatInt(e.Timestamp, 10))
	}
	for _, x := range [][2]string{{"session_id", e.SessionID}, {"user_id", e.UserID}} {
		if x[1] == "" {
			c.add(x[0], "a name", `""`)
		}
	}
}

// form returns the first form that applies.
func (c *checker) form(forms []Form) (Form, bool) {
	for _, f := range forms {
		if f.When == nil {
			return f, true
		}
		holds, err := f.When.holds(c.row)
		if err != nil {
			c.add(f.When.From, "JSON", err.Error())
		}
		if holds {
			return f, true
		}
	}
	return Form{}, false
}

func (c *checker) need(r Rule) Need {
	if c.by == Ours && r.Ours != "" {
		return r.Ours
	}
	return r.Need
}

func (c *checker) rule(where string, r Rule, there bool, value string) {
	switch c.need(r) {
	case Always:
		if !there {
			c.add(where, "a value", "NULL")
		}
	case Never:
		if there {
			c.add(where, "NULL", value)
		}
	}
}

// column checks one JSON column. Of two members with one path the later counts.
func (c *checker) column(name string, doc []byte, lists ...[]Member) {
	w := walker{checker: c, column: name, members: make(map[string]Member)}
	for _, m := range slices.Concat(lists...) {
		w.members[m.Path] = m
	}
	if doc == nil {
		if root := w.members["$"]; !slices.Contains(strings.Split(root.Type, "|"), "NULL") {
			c.add(name, root.Type, "NULL")
		}
		return
	}
	v, err := decode(doc)
	if err != nil {
		c.add(name, "JSON", err.Error())
		return
	}
	w.value("$", v)
}

type walker struct {
	*checker
	column  string
	members map[string]Member
}

func (w *walker) value(path string, v any) {
	where := w.column + " " + path
	m, ok := w.members[path]
	switch {
	case !ok:
		w.add(where, "nothing: neither the Python plugin nor the list of deviations has it", text(v))
		return
	case w.need(m.Rule) == Never && m.Path != "$":
		w.add(where, "nothing from this producer", text(v))
		return
	case !slices.ContainsFunc(strings.Split(m.Type, "|"), func(t string) bool { return is(v, t) }):
		w.add(where, m.Type, text(v))
		return
	}
	if s, ok := v.(string); ok && len(m.Values) > 0 && !slices.Contains(m.Values, s) {
		w.add(where, strings.Join(m.Values, " or "), text(v))
	}
	if m.Open {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			w.value(path+"[*]", x)
		}
	case map[string]any:
		for k, x := range v {
			w.value(path+"."+k, x)
		}
		for p, m := range w.members {
			parent, name := split(p)
			if _, ok := v[name]; parent == path && !ok && w.need(m.Rule) == Always {
				w.add(w.column+" "+p, m.Type, "nothing")
			}
		}
	}
}

// split cuts the last name off a path.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 || strings.HasSuffix(path, "]") {
		return "", ""
	}
	return path[:i], path[i+1:]
}

// is reports whether v is of a type as in [Member].Type.
func is(v any, typ string) bool {
	switch typ {
	case "any":
		return v != nil
	case "int":
		n, ok := v.(json.Number)
		_, err := n.Int64()
		return ok && err == nil
	case "jsontext":
		s, ok := v.(string)
		var object map[string]any
		return ok && json.Unmarshal([]byte(s), &object) == nil
	}
	return typeOf(v) == typ
}

// text returns a value for an error message, cut to what a line holds.
func text(v any) string {
	const most = 120
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}
