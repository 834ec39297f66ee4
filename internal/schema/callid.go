// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "cmp"

// CallIDs are the members of attributes.adk that tell which call a row is about. A row has
// its call in call_id. Rows of earlier versions have it in function_call_id, as rows of the
// Python plugin do where a tool pauses and where the result comes that ends the pause.
type CallIDs struct {
	Call         string `json:"call_id"`
	FunctionCall string `json:"function_call_id"`
}

// CallID returns the id of the call, "" where the row has none.
func (c CallIDs) CallID() string { return cmp.Or(c.Call, c.FunctionCall) }
