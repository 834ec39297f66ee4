// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package record

// Decision names the step that asks, so that the record can tell which results it had read. The
// zero Decision is none: the latest reading of everything counts.
type Decision struct {
	// Node is the key of the asking node in the graph.
	Node string `json:"node,omitempty"`
	// Answer is the event id of the row that ended the model call which asked, or another
	// name of the call: "c:" and the id of a call that it asked for, "e:" and the id of its
	// event. It is "" if no model asked.
	Answer string `json:"answer,omitempty"`
	// Run is the run that asked. After is the event id of its last row before the asking
	// step began, where no model asked; "" is the start of the run.
	Run   string `json:"run,omitempty"`
	After string `json:"after,omitempty"`
	// UpTo is the number of the last row that counts; 0 counts all. A guard that asks sets it to
	// the watermark of its first snapshot.
	UpTo int64 `json:"up_to,omitempty"`
	// Tool is the called tool. Args are its arguments, as the JSON text with the approved digest.
	// The entities that the action names are read from it, by the rules with in: action, and from no
	// row.
	Tool string `json:"tool,omitempty"`
	Args string `json:"args,omitempty"`
}

// Receipt describes the rows of a session from which entities were extracted.
type Receipt struct {
	// Watermark is the number of the last row that was read, RowsRead how many
	// rows of the session were read. Zero means that nothing was.
	Watermark int64 `json:"watermark"`
	RowsRead  int   `json:"rows_read"`
	// Failed counts the rows that gave nothing because of an error, Truncated those that rules read
	// although some of their content was cut before it was recorded.
	Failed    int `json:"failed"`
	Truncated int `json:"truncated"`
	// Error is the first reason why a row failed, for people; "" if none did.
	Error string `json:"error,omitempty"`
	// Version is the digest of the extraction rules.
	Version string `json:"version"`
	// Notes are remarks about the extraction for whoever approves, as a rule that read results and
	// found nothing. They decide nothing.
	Notes []string `json:"notes,omitempty"`
}

// Shown is a result in a request of a model. Args and Result are digests, Args "" if the request does not show
// the call. By is the agent that called where a text tells of the result. Client says that a user's message
// brought it, Agent that the tool has the name of an agent.
type Shown struct {
	Tool   string `json:"tool"`
	Call   string `json:"call"`
	By     string `json:"by"`
	Args   string `json:"args"`
	Result string `json:"result"`
	Client bool   `json:"client"`
	Agent  bool   `json:"agent"`
}
