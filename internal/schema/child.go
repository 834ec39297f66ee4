// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"

	"github.com/adk-contextgraph/contextgraph/record"
)

// ChildSession returns the session of the agent that ran as a tool, if e is the row that ends the
// call and names a session other than its own. It costs little for other rows.
func ChildSession(e *record.Event) (child record.Session, ran bool) {
	if e.EventType != record.ToolCompleted || !bytes.Contains(e.Attributes, []byte(`"child_session"`)) {
		return record.Session{}, false
	}
	var a Attributes
	if a.Read(e.Attributes) != nil {
		return record.Session{}, false
	}
	child = record.Session{App: a.ADK.Child.App, User: a.ADK.Child.User, ID: a.ADK.Child.ID}
	if child.App == "" || child.User == "" || child.ID == "" || child == e.Session() {
		return record.Session{}, false
	}
	return child, true
}
