// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"slices"

	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Rehearse returns the row that a call of the tool would end with, as it would be written, so that
// the same rules find the same entities in it. It records nothing. entities are those that the tool
// declared, as JSON, with commas between them. It returns an error if the result is an error, or if
// the row would not hold all of it.
func (rec *Recorder) Rehearse(s record.Session, by string, t tool.Tool, args, result map[string]any, entities []byte) (record.Event, error) {
	if f, failed := rec.resultError(t, args, result); failed {
		return record.Event{}, errors.New(f.message)
	}
	w := rec.writer()
	defer rec.writers.Put(w)
	p := rec.policies[record.ToolCompleted]
	row := record.Event{
		EventType: record.ToolCompleted, Agent: by, SessionID: s.ID, UserID: s.User, AppName: s.App, Status: record.StatusOK,
		Timestamp: rec.now().UnixMicro(),
	}
	cut := false
	if p.content != config.ContentNone {
		toolContent(w.Doc(contentShare), t.Name(), adkreflect.Origin(t, args), "result", result)
		cut = w.Truncated()
		if rec.options.Format != nil || p.content == config.ContentDigest {
			cut = rec.rewrite(w, row.EventType, p.content) || cut
		}
		row.Content = bytes.Clone(w.Bytes())
	}
	atEnd, whole := rec.rehearsedArgs(t.Name(), args)
	if cut || w.Truncated() || !whole {
		return record.Event{}, errors.New("its result is larger than the limits of the record (record.max_row, record.max_string)")
	}
	row.Attributes = slices.Concat([]byte(`{"adk":{`), atEnd, []byte(`},"entities":[`), entities, []byte(`]}`))
	return row, nil
}

// rehearsedArgs returns the member with the arguments at the end of a call, where rows have
// it, and false if they were cut.
func (rec *Recorder) rehearsedArgs(tool string, args map[string]any) ([]byte, bool) {
	if rec.options.ArgsAtEnd == nil || !rec.options.ArgsAtEnd(tool) {
		return nil, true
	}
	v, ok := rec.payload(record.ToolStarting, args)
	if !ok {
		return nil, true
	}
	w := rec.writer()
	defer rec.writers.Put(w)
	w.Doc(attributesShare).Any("args", v)
	return bytes.Clone(w.Bytes()), !w.Truncated()
}
