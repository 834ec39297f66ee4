// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"encoding/json"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Call returns the arguments and the result of the call of a tool as JSON in one line, both "" for a
// span that is none. The result is "" until the call ended.
func (s *Session) Call(span *Span) (args, result string) {
	for _, i := range span.Rows {
		row := &s.Rows[i]
		var c struct {
			Args   json.RawMessage `json:"args"`
			Result json.RawMessage `json:"result"`
		}
		unmarshal(row.Content, &c)
		switch row.EventType {
		case record.ToolStarting:
			args = oneLine(c.Args)
		case record.ToolCompleted:
			result = oneLine(c.Result)
		}
	}
	return args, result
}

// oneLine returns a JSON text without line breaks and indents.
func oneLine(data []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return ""
	}
	return b.String()
}
