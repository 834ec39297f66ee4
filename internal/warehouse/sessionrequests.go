// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RequestRow is an element of the column requests: a request to a human and its first
// answer. AskedAt is nil for an answer whose request is not among the rows. Pair is empty
// where the row names nothing that the two share: such a row stands alone.
type RequestRow struct {
	Kind       string     `json:"kind"`
	Pair       string     `json:"pair"`
	Agent      string     `json:"agent"`
	Tool       string     `json:"tool"`
	AskedAt    *time.Time `json:"asked_at"`
	AnsweredAt *time.Time `json:"answered_at"`
	Confirmed  *bool      `json:"confirmed"`
	Accepted   *bool      `json:"accepted"`
	WaitedMS   *float64   `json:"waited_ms"`
}

// pairing is what a request and its answers have in common.
type pairing struct{ kind, pair string }

// asking is a row that asks a human, or that answers.
type asking struct {
	*record.Event
	pairing
	answer, unpaired    bool
	tool                string
	confirmed, accepted *bool
	waited              *float64
}

// requests returns the requests to a human by node: each with its first answer, in the
// node of the request, by time. It pairs rows as ask_waiting.sql does.
func requests(timeline []record.Event) map[string][]RequestRow {
	var rows []asking
	for i := range timeline {
		if a, ok := readAsking(&timeline[i]); ok {
			rows = append(rows, a)
		}
	}
	slices.SortStableFunc(rows, func(a, b asking) int {
		return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.EventID, b.EventID))
	})
	asked, answered := make(map[pairing]*asking), make(map[pairing]*asking)
	for i := range rows {
		first := asked
		if rows[i].answer {
			first = answered
		}
		if first[rows[i].pairing] == nil {
			first[rows[i].pairing] = &rows[i]
		}
	}
	out := make(map[string][]RequestRow)
	for i := range rows {
		r := &rows[i]
		request, answer := asked[r.pairing], answered[r.pairing]
		if r == request || request == nil && r == answer {
			node := graphsync.RowNodeKey(r.Event)
			out[node] = append(out[node], requestRow(request, answer))
		}
	}
	return out
}

// requestRow makes the row of a request and its answer; one of them may be nil.
func requestRow(request, answer *asking) RequestRow {
	says := cmp.Or(request, answer)
	r := RequestRow{Kind: says.kind, Pair: says.pair, Agent: says.Agent, Tool: says.tool}
	if says.unpaired {
		r.Pair = ""
	}
	if request != nil {
		at := request.Event.Time()
		r.AskedAt = &at
	}
	if answer == nil {
		return r
	}
	at := answer.Event.Time()
	r.AnsweredAt, r.Confirmed, r.Accepted, r.WaitedMS = &at, answer.confirmed, answer.accepted, answer.waited
	if r.WaitedMS == nil && request != nil {
		ms := float64(answer.Timestamp-request.Timestamp) / 1000
		r.WaitedMS = &ms
	}
	return r
}

// readAsking reads a row; false when it neither asks a human nor answers.
func readAsking(e *record.Event) (asking, bool) {
	a := asking{Event: e}
	switch e.EventType {
	case record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted:
		a.kind = "CONFIRMATION"
	case record.HITLInputRequest, record.HITLInputRequestCompleted:
		a.kind = "INPUT"
	case record.HITLCredentialRequest, record.HITLCredentialRequestCompleted:
		a.kind = "CREDENTIAL"
	default:
		return a, false
	}
	a.answer = strings.HasSuffix(e.EventType, "_COMPLETED")
	var attrs schema.Attributes
	_ = attrs.Read(e.Attributes) // what cannot be read stays empty; the row itself is in the table of events
	a.pair = schema.First(attrs.ADK.ConfirmationID, attrs.ADK.InterruptID, attrs.ADK.Call, attrs.ADK.FunctionCall)
	if a.unpaired = a.pair == ""; a.unpaired {
		a.pair = e.EventID // of this row alone: to which row it belongs is not known
	}
	a.tool = schema.ReadRequest(e.Content).ToolName()
	a.confirmed, a.accepted = attrs.ADK.Confirmed.Bool(), attrs.ADK.Accepted.Bool()
	a.waited = attrs.ADK.WaitedMS.Float()
	return a, true
}
