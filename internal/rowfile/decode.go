// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rowfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// eventName is how the type of an event is written.
var eventName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,127}$`)

// decoder reads rows, one a line.
type decoder struct {
	o    Options
	got  *Contents
	seen map[[sha256.Size]byte]int // lines without an event id
}

// row reads one line and adds it to the contents.
func (d *decoder) row(line []byte) error {
	if !json.Valid(line) {
		return jsonError(line)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return errors.New("it is JSON, but no object: a row is an object with a member per column")
	}
	r := lineReader{members: members}
	e, err := d.event(&r, line)
	if err != nil {
		return err
	}
	for name := range members {
		d.got.Unknown[name]++
	}
	d.got.Rows = append(d.got.Rows, e)
	return nil
}

// jsonError says where a line is no JSON.
func jsonError(line []byte) error {
	var v any
	err := json.Unmarshal(line, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("character %d: it is no JSON: %w", syntax.Offset, err)
	}
	return fmt.Errorf("it is no JSON: %w", err)
}

// lineReader takes columns out of the members of a line; the first error stays.
type lineReader struct {
	members map[string]json.RawMessage
	err     error
}

func (r *lineReader) fail(column, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("column %s: %w", column, fmt.Errorf(format, args...))
	}
}

// take returns the value of a column; nil where it is NULL or left out.
func (r *lineReader) take(column string) json.RawMessage {
	v := bytes.TrimSpace(r.members[column])
	delete(r.members, column)
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	return v
}

// maxColumn bounds a column of text but error_message, in bytes.
const maxColumn = 4096

func (r *lineReader) text(column string) string {
	v := r.take(column)
	if v == nil {
		return ""
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		r.fail(column, "%s is no text", sample(v))
		return ""
	}
	switch {
	case strings.ContainsRune(s, 0):
		r.fail(column, "it holds a NUL character")
	case len(s) > maxColumn && column != "error_message":
		r.fail(column, "%d bytes are more than any such name has", len(s))
	}
	return s
}

func (r *lineReader) required(column string) string {
	_, there := r.members[column]
	s := r.text(column)
	if s == "" && r.err == nil {
		if !there {
			for name := range r.members {
				if text.Nearest(name, []string{column}) != "" {
					r.fail(column, "it is missing; is it %q?", text.Clip(name, 64))
				}
			}
		}
		r.fail(column, "it is missing")
	}
	return s
}

func (r *lineReader) number(column string) int64 {
	v := r.take(column)
	if v == nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.Trim(string(v), `"`), 10, 64)
	if err != nil || n < 0 {
		r.fail(column, "%s is no number of a row", sample(v))
	}
	return n
}

func (r *lineReader) boolean(column string) bool {
	v := r.take(column)
	if v == nil {
		return false
	}
	b, err := strconv.ParseBool(strings.ToLower(strings.Trim(string(v), `"`)))
	if err != nil {
		r.fail(column, "%s is neither true nor false", sample(v))
	}
	return b
}

// sample returns the beginning of a value for an error.
func sample(v []byte) string { return text.Clip(text.Visible(string(v)), 60) }

func (d *decoder) event(r *lineReader, line []byte) (record.Event, error) {
	e := record.Event{
		EventID: r.text("event_id"), EventType: r.required("event_type"), Agent: r.text("agent"),
		SessionID: r.required("session_id"), InvocationID: r.text("invocation_id"), UserID: r.text("user_id"),
		TraceID: r.text("trace_id"), SpanID: r.text("span_id"), ParentSpanID: r.text("parent_span_id"),
		Status: strings.ToUpper(r.text("status")), ErrorMessage: r.text("error_message"), IsTruncated: r.boolean("is_truncated"),
		AppName: r.text("app_name"), RunID: r.text("run_id"), RunSeq: r.number("run_seq"),
	}
	r.number("seq") // of another journal
	if e.Timestamp = r.timestamp(); r.err != nil {
		return e, r.err
	}
	if !eventName.MatchString(e.EventType) {
		r.fail("event_type", "%q is no name of an event, such as %s", text.Clip(e.EventType, 60), cmp.Or(text.Nearest(strings.ToUpper(e.EventType), record.EventTypes()), record.LLMRequest))
	}
	switch e.Status {
	case record.StatusOK, record.StatusError:
	case "":
		e.Status = record.StatusOK
		if strings.HasSuffix(e.EventType, "_ERROR") {
			e.Status = record.StatusError
		}
	default:
		r.fail("status", "%q is neither OK nor ERROR", text.Clip(e.Status, 60))
	}
	d.payload(r, &e)
	if e.AppName = cmp.Or(e.AppName, d.o.App); e.AppName == "" && d.o.NeedApp != "" {
		r.fail("attributes", "neither $.adk.app_name nor $.session_metadata.app_name names the application: %s", d.o.NeedApp)
	}
	if e.EventID == "" && r.err == nil {
		e.EventID = d.identify(line)
		d.got.Unnamed++
	}
	return e, r.err
}

// identify names a row by its content. The second of two equal rows gets another name.
func (d *decoder) identify(line []byte) string {
	sum := sha256.Sum256(line)
	d.seen[sum]++
	id := sha256.Sum256(fmt.Appendf(sum[:], "%d", d.seen[sum]))
	return hex.EncodeToString(id[:16])
}
