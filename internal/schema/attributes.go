// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Attributes are the members of the column attributes that are read back. docs/row-contract.md
// explains each.
type Attributes struct {
	ADK           ADK             `json:"adk"`
	Entities      json.RawMessage `json:"entities"`
	FunctionCalls []FunctionCall  `json:"function_calls"`
	Model         string          `json:"model"`
	ModelVersion  string          `json:"model_version"`
	ResponseText  string          `json:"response_text"`
	Usage         Usage           `json:"usage_metadata"`
}

// ADK are the members of attributes.adk.
type ADK struct {
	CallIDs
	Branch         string `json:"branch"`
	ConfirmationID Scalar `json:"confirmation_id"`
	InterruptID    Scalar `json:"interrupt_id"`
	PauseKind      string `json:"pause_kind"`
	Node           struct {
		Path string `json:"path"`
	} `json:"node"`
	Scope struct {
		ID string `json:"id"`
	} `json:"scope"`
	Child  Link `json:"child_session"`
	Parent Link `json:"parent"`

	// What models were shown, and the evidence of an approval.
	Started       string   `json:"started"`
	Asked         string   `json:"asked"`
	Result        string   `json:"result"`
	ArgsDigest    string   `json:"args_digest"`
	Given         string   `json:"given"`
	Place         string   `json:"place"`
	Agent         bool     `json:"agent"`
	Fresh         bool     `json:"fresh"`
	Closed        []string `json:"closed"`
	Rewinds       []string `json:"rewinds"`    // the rows of the rewinds that the history of a run goes by
	Checkpoint    string   `json:"checkpoint"` // what a row of package checkpoint says
	Left          []string `json:"left"`       // the runs that a rewind left
	More          string   `json:"more"`       // the row with more of them
	By            string   `json:"by"`         // who did it
	Of            string   `json:"of"`
	Partial       bool     `json:"partial"`
	Joins         bool     `json:"joins"`
	AnswerOf      string   `json:"answer_of"`
	SourceEventID string   `json:"source_event_id"`
	Said          []string `json:"said"`
	Shown         struct {
		Base    string         `json:"base"`
		Results []record.Shown `json:"results"`
		Words   []Words        `json:"words"`
	} `json:"shown"`

	// Calls: how they ended, and whether they can be repeated.
	Args   json.RawMessage            `json:"args"`
	State  map[string]json.RawMessage `json:"state"`
	Replay string                     `json:"replay"` // [ReplayReady], or why not
	Drift  bool                       `json:"drift"`

	// Approvals.
	ApprovalID    string `json:"approval_id"`
	Replaces      string `json:"replaces"`
	Enforced      *bool  `json:"enforced"`
	Confirmed     Scalar `json:"confirmed"`
	Accepted      Scalar `json:"accepted"`
	WaitedMS      Scalar `json:"waited_ms"`
	Authenticated bool   `json:"authenticated"`
	Approver      string `json:"approver"`
	Change        string `json:"change"`
	Because       string `json:"because"`
	Override      string `json:"override"`
	Overridden    bool   `json:"overridden"`
	Redo          bool   `json:"redo"`

	// Consents are the people who had approved, Approvers is how many have to.
	Consents  []string `json:"consents"`
	Approvers int      `json:"approvers"`

	Reason  string `json:"reason"`
	Verdict string `json:"verdict"`
	Stage   string `json:"stage"`
}

// GivenByClient is the value of attributes.adk.given of a result that a user's message brought.
const GivenByClient = "client"

// GivenByHistory is that of a result that only the history of a session has, of a turn whose record is broken.
const GivenByHistory = "history"

// Words are the output of a step in a request of a model. Said is a digest, By is "" if the request does not
// say whose they are.
type Words struct {
	By   string `json:"by"`
	Said string `json:"said"`
}

// Link names the session of an agent that ran as a tool, or the session and the span of the call that ran it.
type Link struct {
	App  string `json:"app_name"`
	User string `json:"user_id"`
	ID   string `json:"session_id"`
	Span string `json:"span_id"`
	Call string `json:"call_id"`
}

// FunctionCall is a call that a model asked for.
type FunctionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Usage is the number of tokens of a model call.
type Usage struct {
	Prompt     Count `json:"prompt_token_count"`
	Completion Count `json:"candidates_token_count"`
	Total      Count `json:"total_token_count"`
}

// Read reads the column attributes into a, which is empty. A member of another type than its
// field is left out, and so is everything if text is no JSON object: the error says so. Without
// text there are no attributes and no error.
func (a *Attributes) Read(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, a); err != nil {
		return fmt.Errorf("attributes are not a JSON object as rows have it: %w", err)
	}
	return nil
}

// CallIDs are the members of attributes.adk that tell which call a row is about. A row has
// its call in call_id. Rows of the Python plugin have it in function_call_id, where a tool pauses
// and where the result comes that ends the pause.
type CallIDs struct {
	Call         Scalar `json:"call_id"`
	FunctionCall Scalar `json:"function_call_id"`
}

// CallID returns the id of the call, "" where the row has none.
func (c CallIDs) CallID() string { return cmp.Or(c.Call.Text, c.FunctionCall.Text) }

// Count is a number of tokens in any form. Anything else counts as 0.
type Count int64

// UnmarshalJSON implements [json.Unmarshaler]. It does not fail.
func (c *Count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 && f < 1<<53 {
		*c = Count(math.Round(f))
	}
	return nil
}
