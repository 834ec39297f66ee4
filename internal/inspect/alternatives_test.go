// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What was there to choose from is told by the rows of a request, and where the ledger knows
// it, by that.
func TestNotChosen(t *testing.T) {
	price, err := entity.Money("9", "USD")
	if err != nil {
		t.Fatal(err)
	}
	ledger := safety.Approval{ID: "a-1", Session: session, State: safety.StatePending, NotChosen: entity.NotChosen{Total: 3, Entities: []entity.Alternative{
		{Type: "Product", Value: "Hulu", Seen: map[string]entity.Value{"price": price}, SeenAt: at(4)},
		{Type: "Product", Value: "Vimeo", SeenAt: at(4)},
	}}}
	payload := ledger.Shown()["not_chosen"]
	rows := newScript(t).asks()
	plain := rows.see(at(60)).Approvals[0]
	if text, err := json.Marshal(plain); err != nil || plain.NotChosen != nil {
		t.Errorf("nothing was to choose from: %s, %v", text, err)
	}
	for i := range rows.rows {
		e := &rows.rows[i]
		var content m
		if e.EventType != "HITL_CONFIRMATION_REQUEST" || json.Unmarshal(e.Content, &content) != nil {
			continue
		}
		content["args"].(m)["toolConfirmation"].(m)["payload"].(m)["contextgraph"].(m)["not_chosen"] = payload
		e.Content = encode(content)
	}
	want := &inspect.NotChosen{Total: 3, Entities: []inspect.Alternative{
		{Type: "Product", Value: "Hulu", Seen: map[string]string{"price": "$9"}, SeenAt: at(4)},
		{Type: "Product", Value: "Vimeo", Seen: map[string]string{}, SeenAt: at(4)},
	}}
	if d := cmp.Diff(want, rows.see(at(60)).Approvals[0].NotChosen); d != "" {
		t.Errorf("by the rows (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, rows.see(at(60), ledger).Approvals[0].NotChosen); d != "" {
		t.Errorf("by both (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, newScript(t).asks().see(at(60), ledger).Approvals[0].NotChosen); d != "" {
		t.Errorf("by the ledger (-want +got):\n%s", d)
	}
}
