// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestChildSession(t *testing.T) {
	child := record.Session{App: "expert", User: "ann", ID: "c"}
	for name, tt := range map[string]struct {
		typ, attributes string
		want            record.Session
	}{
		"an agent ran":        {record.ToolCompleted, `{"adk":{"child_session":{"app_name":"expert","user_id":"ann","session_id":"c","run_id":"r"}}}`, child},
		"another type of row": {record.ToolStarting, `{"adk":{"child_session":{"app_name":"expert","user_id":"ann","session_id":"c"}}}`, record.Session{}},
		"no agent ran":        {record.ToolCompleted, `{"adk":{"app_name":"expert"}}`, record.Session{}},
		"no attributes":       {record.ToolCompleted, ``, record.Session{}},
		"no JSON":             {record.ToolCompleted, `{"adk":{"child_session":{"app_name":"expert","user_id":"ann","session_id":"c"}}`, record.Session{}},
		"elsewhere":           {record.ToolCompleted, `{"child_session":{"app_name":"expert","user_id":"ann","session_id":"c"}}`, record.Session{}},
		"without app":         {record.ToolCompleted, `{"adk":{"child_session":{"user_id":"ann","session_id":"c"}}}`, record.Session{}},
		"without user":        {record.ToolCompleted, `{"adk":{"child_session":{"app_name":"expert","session_id":"c"}}}`, record.Session{}},
		"without id":          {record.ToolCompleted, `{"adk":{"child_session":{"app_name":"expert","user_id":"ann"}}}`, record.Session{}},
		"its own session":     {record.ToolCompleted, `{"adk":{"child_session":{"app_name":"shop","user_id":"ann","session_id":"s"}}}`, record.Session{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := record.Event{EventType: tt.typ, AppName: "shop", UserID: "ann", SessionID: "s", Attributes: []byte(tt.attributes)}
			if got, ran := schema.ChildSession(&e); got != tt.want || ran != (tt.want != record.Session{}) {
				t.Errorf("%+v, %t, want %+v", got, ran, tt.want)
			}
		})
	}
}
