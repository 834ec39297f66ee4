// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// NotChecked returns, by tool, the arguments that no rule and no condition read at its latest request for a
// confirmation among rows, which are in order. A tool without such arguments is not in the map.
func NotChecked(rows []record.Event) map[string][]string {
	byTool := make(map[string][]string)
	for i := range rows {
		if rows[i].EventType != record.HITLConfirmationRequest {
			continue
		}
		var payload struct {
			Shown struct {
				Tool       string   `json:"tool"`
				NotChecked []string `json:"not_checked"`
			} `json:"contextgraph"`
		}
		if json.Unmarshal(schema.ReadRequest(rows[i].Content).Args.Confirmation.Payload, &payload) != nil || payload.Shown.Tool == "" {
			continue
		}
		delete(byTool, payload.Shown.Tool)
		if len(payload.Shown.NotChecked) > 0 {
			byTool[payload.Shown.Tool] = payload.Shown.NotChecked
		}
	}
	return byTool
}
