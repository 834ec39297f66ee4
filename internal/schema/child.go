// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Nested returns the session that called an agent as a tool, and the session and the span of the call, if a row
// tells of such a run: the row that ends the call, or a row that begins the run of the agent. It costs little
// for other rows.
func Nested(e *record.Event) (parent record.Session, child record.Child, is bool) {
	key := `"parent"`
	switch e.EventType {
	case record.ToolCompleted:
		key = `"child_session"`
	case record.UserMessageReceived, record.InvocationStarting:
	default:
		return parent, child, false
	}
	if !bytes.Contains(e.Attributes, []byte(key)) {
		return parent, child, false
	}
	var a Attributes
	if a.Read(e.Attributes) != nil {
		return parent, child, false
	}
	if e.EventType == record.ToolCompleted {
		parent = e.Session()
		child = record.Child{Session: a.ADK.Child.session(), Span: e.SpanID, Call: a.ADK.CallID()}
	} else {
		parent = a.ADK.Parent.session()
		child = record.Child{Session: e.Session(), Span: a.ADK.Parent.Span, Call: a.ADK.Parent.Call}
	}
	whole := func(s record.Session) bool { return s.App != "" && s.User != "" && s.ID != "" }
	return parent, child, whole(parent) && whole(child.Session) && parent != child.Session
}

// session returns the session that a link names.
func (l Link) session() record.Session { return record.Session{App: l.App, User: l.User, ID: l.ID} }
