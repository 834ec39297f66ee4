// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RequestRow is an element of the column requests: a request to a human and its first
// answer. AskedAt is nil for an answer whose request is not among the rows.
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
	answer              bool
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
	pairUnnamed(rows)
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

// pairUnnamed gives an id to rows without one, as the plugin for Python writes them. An
// answer gets that of the request of its kind that has waited longest.
func pairUnnamed(rows []asking) {
	waiting := make(map[string][]string)
	for i := range rows {
		r := &rows[i]
		if r.pair != "" {
			continue
		}
		r.pair = r.EventID
		switch queue := waiting[r.kind]; {
		case !r.answer:
			waiting[r.kind] = append(queue, r.EventID)
		case len(queue) > 0:
			r.pair, waiting[r.kind] = queue[0], queue[1:]
		}
	}
}

// requestRow makes the row of a request and its answer; one of them may be nil.
func requestRow(request, answer *asking) RequestRow {
	says := cmp.Or(request, answer)
	r := RequestRow{Kind: says.kind, Pair: says.pair, Agent: says.Agent, Tool: says.tool}
	if request != nil {
		at := eventTime(request.Event)
		r.AskedAt = &at
	}
	if answer == nil {
		return r
	}
	at := eventTime(answer.Event)
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
	var attrs struct {
		ADK struct {
			ConfirmationID scalar `json:"confirmation_id"`
			InterruptID    scalar `json:"interrupt_id"`
			CallID         scalar `json:"call_id"`
			FunctionCallID scalar `json:"function_call_id"`
			Confirmed      scalar `json:"confirmed"`
			Accepted       scalar `json:"accepted"`
			WaitedMS       scalar `json:"waited_ms"`
		} `json:"adk"`
	}
	var content struct {
		Tool scalar `json:"tool"`
		Args struct {
			Call struct {
				Name scalar `json:"name"`
			} `json:"originalFunctionCall"`
		} `json:"args"`
	}
	// What cannot be read stays empty; the row itself is in the table of events.
	_ = json.Unmarshal(e.Attributes, &attrs)
	_ = json.Unmarshal(e.Content, &content)
	a.pair = firstOf(attrs.ADK.ConfirmationID, attrs.ADK.InterruptID, attrs.ADK.CallID, attrs.ADK.FunctionCallID)
	a.tool = firstOf(content.Args.Call.Name, content.Tool)
	a.confirmed, a.accepted = attrs.ADK.Confirmed.bool(), attrs.ADK.Accepted.bool()
	a.waited = attrs.ADK.WaitedMS.float()
	return a, true
}

// scalar is a member of a JSON object as JSON_VALUE gives it: the text of a string, a
// number or a truth value, else nil.
type scalar struct{ text *string }

// UnmarshalJSON keeps the text. It does not fail, so that one member that is something
// else does not hide the others.
func (s *scalar) UnmarshalJSON(b []byte) error {
	text := string(b)
	switch b[0] {
	case '{', '[', 'n':
		return nil
	case '"':
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	s.text = &text
	return nil
}

// bool returns the truth value as SAFE_CAST gives it.
func (s scalar) bool() *bool {
	if s.text == nil || !strings.EqualFold(*s.text, "true") && !strings.EqualFold(*s.text, "false") {
		return nil
	}
	b := strings.EqualFold(*s.text, "true")
	return &b
}

// float returns the number as SAFE_CAST gives it, and nil for those JSON does not have.
func (s scalar) float() *float64 {
	if s.text == nil {
		return nil
	}
	f, err := strconv.ParseFloat(*s.text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// firstOf returns the first text that is there, else an empty one.
func firstOf(list ...scalar) string {
	for _, s := range list {
		if s.text != nil {
			return *s.text
		}
	}
	return ""
}
