// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestNested(t *testing.T) {
	caller, agent := record.Session{App: "shop", User: "ann", ID: "s"}, record.Session{App: "expert", User: "ann", ID: "c"}
	const child, parent = `"child_session":{"app_name":"expert","user_id":"ann","session_id":"c","run_id":"r"}`, `"parent":{"app_name":"shop","user_id":"ann","session_id":"s","span_id":"T"}`
	for name, tt := range map[string]struct {
		of              record.Session
		typ, attributes string
		is              bool
	}{
		"the end of the call":    {caller, record.ToolCompleted, `{"adk":{` + child + `}}`, true},
		"the message of the run": {agent, record.UserMessageReceived, `{"adk":{` + parent + `}}`, true},
		"the start of the run":   {agent, record.InvocationStarting, `{"adk":{` + parent + `}}`, true},
		"another type of row":    {caller, record.ToolStarting, `{"adk":{` + child + `}}`, false},
		"a call without a run":   {caller, record.ToolCompleted, `{"adk":{"app_name":"shop"}}`, false},
		"a run without a call":   {agent, record.InvocationStarting, `{"adk":{"app_name":"expert"}}`, false},
		"no attributes":          {caller, record.ToolCompleted, ``, false},
		"no JSON":                {caller, record.ToolCompleted, `{"adk":{` + child, false},
		"elsewhere":              {caller, record.ToolCompleted, `{` + child + `}`, false},
		"without app":            {caller, record.ToolCompleted, `{"adk":{"child_session":{"user_id":"ann","session_id":"c"}}}`, false},
		"without user":           {caller, record.ToolCompleted, `{"adk":{"child_session":{"app_name":"expert","session_id":"c"}}}`, false},
		"without id":             {caller, record.ToolCompleted, `{"adk":{"child_session":{"app_name":"expert","user_id":"ann"}}}`, false},
		"its own session":        {caller, record.InvocationStarting, `{"adk":{` + parent + `}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := record.Event{EventType: tt.typ, AppName: tt.of.App, UserID: tt.of.User, SessionID: tt.of.ID, SpanID: "T", Attributes: []byte(tt.attributes)}
			from, got, is := schema.Nested(&e)
			if want := (record.Child{Session: agent, Span: "T"}); is != tt.is || is && (from != caller || got != want) {
				t.Errorf("%+v ran %+v, %t", from, got, is)
			}
		})
	}
}
