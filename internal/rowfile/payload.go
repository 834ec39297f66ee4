// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rowfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/record"
)

// timestamp reads the time of a row: RFC 3339, as BigQuery writes it ("2026-03-05
// 12:00:00.123456 UTC"), or a number of seconds, milliseconds, microseconds or
// nanoseconds since 1970, whichever gives a year of our time.
func (r *lineReader) timestamp() int64 {
	v := r.take("timestamp")
	if v == nil {
		r.fail("timestamp", "it is missing")
		return 0
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	text = strings.TrimSpace(text)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		for _, unit := range []struct{ most, perMicro float64 }{{1e11, 1e6}, {1e14, 1e3}, {1e17, 1}, {1e20, 1e-3}} {
			if f >= 0 && f < unit.most {
				return int64(math.Round(f * unit.perMicro))
			}
		}
		r.fail("timestamp", "%s is no time since 1970", sample(v))
		return 0
	}
	text = strings.TrimSuffix(text, " UTC")
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1 && t.Year() <= 9999 {
			return t.UnixMicro()
		}
	}
	r.fail("timestamp", `%s is no time: write it as "2026-03-05T12:00:00.123456Z"`, sample(v))
	return 0
}

// payload reads the columns of JSON, and the facts about the row in attributes.
func (d *decoder) payload(r *lineReader, e *record.Event) {
	attributes := r.take("attributes")
	encoded := len(attributes) > 0 && attributes[0] == '"' // an export that has JSON in strings
	e.Attributes = r.jsonColumn("attributes", attributes, stringsMustHoldJSON)
	switch {
	case e.Attributes == nil:
		e.Attributes = []byte(`{}`)
	case e.Attributes[0] != '{':
		r.fail("attributes", "%s is no object", sample(e.Attributes))
	}
	if r.err != nil {
		return
	}
	own := d.context(e)
	content := stringsMayHoldPayload
	switch {
	case encoded:
		content = stringsHoldJSON
	case own || freeContent(e.EventType):
		content = stringsAreText
	}
	e.Content = r.jsonColumn("content", r.take("content"), content)
	e.LatencyMS = r.jsonColumn("latency_ms", r.take("latency_ms"), stringsMustHoldJSON)
	if e.LatencyMS != nil && e.LatencyMS[0] != '{' {
		if _, err := strconv.ParseFloat(string(e.LatencyMS), 64); err != nil {
			r.fail("latency_ms", "%s is neither an object nor a number", sample(e.LatencyMS))
		}
		e.LatencyMS = fmt.Appendf(nil, `{"total_ms":%s}`, e.LatencyMS)
	}
	e.ContentParts = r.parts()
}

// freeContent reports whether content of the type may be any text, which must not be taken
// for JSON that somebody put into a string.
func freeContent(eventType string) bool {
	switch eventType {
	case record.AgentStarting, record.NodeOutput, record.A2AInteraction:
		return true
	}
	return false
}

// inStrings says which strings of a column of JSON are taken for the JSON they hold.
type inStrings int

const (
	// stringsAreText: none.
	stringsAreText inStrings = iota
	// stringsMayHoldPayload: those that hold an object or a list.
	stringsMayHoldPayload
	// stringsHoldJSON: all that hold any.
	stringsHoldJSON
	// stringsMustHoldJSON: all, and it is an error when they do not.
	stringsMustHoldJSON
)

// jsonColumn returns a column of JSON, compact.
func (r *lineReader) jsonColumn(column string, v json.RawMessage, how inStrings) []byte {
	var s string
	if how != stringsAreText && len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		inner := bytes.TrimSpace([]byte(s))
		valid := json.Valid(inner)
		switch {
		case how == stringsMayHoldPayload:
			if valid && (inner[0] == '{' || inner[0] == '[') {
				v = inner
			}
		case valid:
			v = inner
		case how == stringsMustHoldJSON && len(inner) == 0:
			v = nil
		case how == stringsMustHoldJSON:
			r.fail(column, "%s is text and no JSON", sample(v))
			return nil
		}
	}
	if v == nil || how >= stringsHoldJSON && string(v) == "null" {
		return nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, v); err != nil {
		r.fail(column, "%w", err)
		return nil
	}
	if b := out.Bytes(); !utf8.Valid(b) {
		return bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return out.Bytes()
}

// parts reads content_parts. Exports write numbers as strings and NULL as null; the journal has
// neither.
func (r *lineReader) parts() []byte {
	text := r.jsonColumn("content_parts", r.take("content_parts"), stringsMustHoldJSON)
	if text == nil || string(text) == "[]" {
		return nil
	}
	var parts []map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		r.fail("content_parts", "it is no list of objects")
		return nil
	}
	changed := false
	for _, p := range parts {
		for name, v := range p {
			switch {
			case string(v) == "null":
				delete(p, name)
				changed = true
			case name == "part_index" && v[0] == '"':
				p[name] = bytes.Trim(v, `"`)
				if _, err := strconv.Atoi(string(p[name])); err != nil {
					r.fail("content_parts", "part_index %s is no number", sample(v))
					return nil
				}
				changed = true
			}
		}
	}
	if !changed {
		return text
	}
	out, err := json.Marshal(parts)
	if err != nil {
		r.fail("content_parts", "%w", err)
	}
	return out
}

// context takes the application and the place in its run from the attributes of e, and
// reports whether the row is one of this plugin. The run stands in attributes in the
// dataset and in exports alone.
func (d *decoder) context(e *record.Event) bool {
	var a struct {
		ADK json.RawMessage `json:"adk"`
		Of  json.RawMessage `json:"session_metadata"`
	}
	var adk, of struct {
		App    any `json:"app_name"`
		RunID  any `json:"run_id"`
		RunSeq any `json:"run_seq"`
	}
	// A value of a wrong type is left where it is.
	_ = json.Unmarshal(e.Attributes, &a)
	_ = json.Unmarshal(a.ADK, &adk)
	_ = json.Unmarshal(a.Of, &of)
	app, _ := adk.App.(string)
	other, _ := of.App.(string)
	e.AppName = cmp.Or(e.AppName, app, other)
	run, _ := adk.RunID.(string)
	seq, _ := adk.RunSeq.(float64)
	if run == "" || seq < 1 || seq > 1<<53 || seq != math.Trunc(seq) {
		return e.RunID != ""
	}
	e.RunID, e.RunSeq = run, int64(seq)
	e.Attributes = withoutRun(e.Attributes, run, int64(seq))
	return true
}
