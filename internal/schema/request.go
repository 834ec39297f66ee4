// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"encoding/json"
)

// Request is the content of a request to a human.
type Request struct {
	Tool string `json:"tool"`
	Args struct {
		// Of a confirmation.
		Call         FunctionCall `json:"originalFunctionCall"`
		Confirmation struct {
			Hint    string          `json:"hint"`
			Payload json.RawMessage `json:"payload"`
		} `json:"toolConfirmation"`
		// Of a request for an input.
		Message string          `json:"message"`
		Payload json.RawMessage `json:"payload"`
	} `json:"args"`
}

// ReadRequest reads the content of a request to a human. What cannot be read stays empty.
func ReadRequest(content []byte) (r Request) {
	if len(content) > 0 {
		_ = json.Unmarshal(content, &r)
	}
	return r
}

// ToolName returns the tool of the call that waits for the answer, else that of the request.
func (r Request) ToolName() string { return cmp.Or(r.Args.Call.Name, r.Tool) }
