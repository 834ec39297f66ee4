// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The kinds of requests to a human. A confirmation is answered with yes or no.
const (
	KindConfirmation = "confirmation"
	kindInput        = "input"
	kindCredential   = "credential"
)

// request is an approval in the making, with the fields that later rows can settle.
type request struct {
	Approval
	// row is the position of the request, -1 for one that only the ledger has.
	row int
	// ledger is its entry in the ledger, nil for none.
	ledger *safety.Approval
	// guarded says that a guard looked at the answers.
	guarded bool
	// said is whether the last answer was a yes; taken are the runs that began with one that
	// the guard took.
	said  bool
	taken map[string]bool
	// attempts are the runs of the action, whether or not the gate let them pass.
	attempts []attempt
	// args are the arguments of the call, where only they say which call it is.
	args any
	// redo says that the program of the agent can do the turn again.
	redo bool
	// unknown is set where a call on record belongs to this request or to another one.
	unknown bool
}

// approvalsOf returns the requests to a human, oldest first. Rows are in order. The rows of the
// requests, their answers and checks are enough if the ledger has all approvals and the guard
// enforces them.
func approvalsOf(rows []row, ledger []safety.Approval, now time.Time) []Approval {
	c := &collector{before: make(map[string][]int), byID: make(map[string]*request), byConfirmation: make(map[[2]string]*request)}
	for i := range rows {
		r := &rows[i]
		switch r.EventType {
		case record.HITLConfirmationRequest:
			c.request(r, i, KindConfirmation)
			for _, before := range c.before[r.ADK.ApprovalID] {
				c.check(&rows[before], before)
			}
			delete(c.before, r.ADK.ApprovalID)
		case record.HITLInputRequest:
			c.request(r, i, kindInput)
		case record.HITLCredentialRequest:
			c.request(r, i, kindCredential)
		case record.HITLConfirmationRequestCompleted:
			c.answer(r, i, KindConfirmation)
		case record.HITLInputRequestCompleted:
			c.answer(r, i, kindInput)
		case record.HITLCredentialRequestCompleted:
			c.answer(r, i, kindCredential)
		case record.WorldChangeCheck:
			c.check(r, i)
		case record.ToolStarting, record.ToolCompleted, record.ToolError:
			c.tool(r)
		case record.InvocationCompleted, record.InvocationError:
			c.runEnded(r)
		}
	}
	for i := range ledger {
		c.ledger(&ledger[i])
	}
	slices.SortStableFunc(c.requests, func(a, b *request) int { return a.RequestedAt.Compare(b.RequestedAt) })
	out := make([]Approval, len(c.requests))
	for i, q := range c.requests {
		q.settle(now)
		out[i] = q.Approval
	}
	for i, q := range c.requests {
		newer := slices.ContainsFunc(out[i+1:], func(a Approval) bool { return a.Tool == q.Tool && a.Status.Open() || a.Replaces == q.ID })
		if q.redo && q.Status == StatusDrift && !newer {
			out[i].Can = append(out[i].Can, CanRedo)
			out[i].Explanation += " Its turn can be done again with the present values, and then asks for a new yes: contextgraph redo " + q.ID + "."
		}
	}
	return out
}

// collector pairs requests with all that came of them.
type collector struct {
	requests []*request
	// before has, by approval, the checks that were made before anybody was asked.
	before map[string][]int
	// byID finds them by approval, byConfirmation by kind and the id of the request.
	byID           map[string]*request
	byConfirmation map[[2]string]*request
}

// payload is the content that a request shows to a human, see [safety.Approval.Shown].
type payload struct {
	Shown struct {
		ApprovalID  string    `json:"approval_id"`
		Tool        string    `json:"tool"`
		ArgsDigest  string    `json:"args_digest"`
		Fingerprint string    `json:"fingerprint"`
		RequestedAt time.Time `json:"requested_at"`
		ExpiresAt   time.Time `json:"expires_at"`
		Entities    []struct {
			Type       string            `json:"type"`
			Value      string            `json:"value"`
			Attributes map[string]string `json:"attributes"`
			Conditions map[string]string `json:"conditions"`
			Confidence float64           `json:"confidence"`
			SeenAt     time.Time         `json:"seen_at"`
		} `json:"entities"`
		Hopeless  string            `json:"hopeless"`
		Total     string            `json:"total"`
		Money     map[string]string `json:"money"`
		Unread    []string          `json:"not_checked"`
		Warnings  []string          `json:"warnings"`
		Notes     []string          `json:"notes"`
		Costs     []safety.Cost     `json:"costs"`
		Requester *Requester        `json:"requester"`
		Approvers int               `json:"approvers"`
		NotChosen struct {
			Total    int `json:"total"`
			Entities []struct {
				Type       string            `json:"type"`
				Value      string            `json:"value"`
				Attributes map[string]string `json:"attributes"`
				SeenAt     time.Time         `json:"seen_at"`
			} `json:"entities"`
		} `json:"not_chosen"`
		Replaces   string             `json:"replaces"`
		Difference *safety.Difference `json:"difference"`
	} `json:"contextgraph"`
}

// request adds the request that a row is.
func (c *collector) request(r *row, at int, kind string) {
	content := schema.ReadRequest(r.Content)
	args := content.Args
	var shown payload
	if kind == KindConfirmation {
		unmarshal(args.Confirmation.Payload, &shown)
	} else {
		unmarshal(args.Payload, &shown)
	}
	seen := shown.Shown
	q := &request{row: at}
	q.ID = cmp.Or(r.ADK.ApprovalID, seen.ApprovalID)
	q.ConfirmationID = confirmationOf(r)
	q.Session, q.Kind, q.Agent, q.Span = r.Session(), kind, r.Agent, r.span
	q.RequestedAt, q.ExpiresAt = r.at(), clock(seen.ExpiresAt)
	if at := clock(seen.RequestedAt); !at.IsZero() {
		q.RequestedAt = at
	}
	q.ArgsDigest, q.Fingerprint, q.Warnings = seen.ArgsDigest, seen.Fingerprint, seen.Warnings
	if seen.Hopeless != "" {
		q.Hopeless = noCheckPasses + sentence(seen.Hopeless)
	}
	q.Costs, q.Total, q.Money, q.Notes, q.NotChecked = seen.Costs, seen.Total, seen.Money, seen.Notes, seen.Unread
	q.Requester, q.Approvers = seen.Requester, max(seen.Approvers, 1)
	q.Replaces, q.Difference = cmp.Or(r.ADK.Replaces, seen.Replaces), seen.Difference
	if kind == KindConfirmation {
		q.CallID = cmp.Or(args.Call.ID, r.ADK.CallID())
		q.Tool, q.Args, q.Hint = cmp.Or(args.Call.Name, seen.Tool, content.Tool), raw(args.Call.Args), args.Confirmation.Hint
		if q.ConfirmationID == "" && r.ADK.CallID() != q.CallID {
			q.ConfirmationID = r.ADK.CallID()
		}
	} else {
		q.CallID = cmp.Or(r.ADK.CallID(), q.ConfirmationID)
		q.ConfirmationID = cmp.Or(q.ConfirmationID, q.CallID)
		q.Tool, q.Hint = content.Tool, args.Message
	}
	q.guarded = q.ID != ""
	if q.Requester == nil && q.guarded {
		q.Requester = &Requester{Name: q.Session.User} // the row names nobody
	}
	q.Enforced = q.guarded && (r.ADK.Enforced == nil || *r.ADK.Enforced)
	if !q.guarded {
		unmarshal(args.Call.Args, &q.args)
	}
	for _, e := range seen.Entities {
		q.Entities = append(q.Entities, Rested{
			Type: e.Type, Value: e.Value, Confidence: finite(e.Confidence), Seen: e.Attributes, SeenAt: clock(e.SeenAt), Conditions: e.Conditions,
		})
	}
	for _, e := range seen.NotChosen.Entities {
		q.notChosen(seen.NotChosen.Total, Alternative{Type: e.Type, Value: e.Value, Seen: e.Attributes, SeenAt: clock(e.SeenAt)})
	}
	if known := c.byID[q.ID]; q.ID != "" && known != nil {
		return // the same request, shown once more
	}
	c.add(q)
}

func (c *collector) add(q *request) {
	c.requests = append(c.requests, q)
	if q.ID != "" {
		c.byID[q.ID] = q
	}
	if q.ConfirmationID != "" {
		c.byConfirmation[[2]string{q.Kind, q.ConfirmationID}] = q
	}
}

// confirmationOf returns the id that the answer to a request names.
func confirmationOf(r *row) string { return cmp.Or(r.ADK.ConfirmationID.Text, r.ADK.InterruptID.Text) }

// find returns the request that a row is about, nil for none.
func (c *collector) find(r *row, kind string) *request {
	if q := c.byID[r.ADK.ApprovalID]; q != nil && r.ADK.ApprovalID != "" {
		return q
	}
	for _, id := range []string{confirmationOf(r), r.ADK.CallID()} {
		if q := c.byConfirmation[[2]string{kind, id}]; q != nil && id != "" && q.named(r) {
			return q
		}
	}
	for _, q := range slices.Backward(c.requests) {
		if q.Kind == kind && q.CallID != "" && q.CallID == r.ADK.CallID() && q.named(r) {
			return q
		}
	}
	return nil
}

// named reports whether nothing in a row names another request: one call may be asked for
// several times, and the row of the other request may be lost.
func (q *request) named(r *row) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return same(r.ADK.ApprovalID, q.ID) && same(confirmationOf(r), q.ConfirmationID)
}

// ledger takes over what the ledger has of a request.
func (c *collector) ledger(a *safety.Approval) {
	q := c.byID[a.ID]
	for _, kind := range []string{KindConfirmation, kindInput} {
		if q == nil && a.ConfirmationID != "" {
			q = c.byConfirmation[[2]string{kind, a.ConfirmationID}]
		}
	}
	if q == nil {
		q = &request{row: -1}
		q.Kind, q.Span = KindConfirmation, a.DecisionNode
		c.add(q)
	}
	// A request without a kind counts as a request of a guard.
	q.Enforced = q.Enforced || !q.guarded
	q.ID, q.Session, q.ledger, q.guarded = a.ID, a.Session, a, true
	q.ConfirmationID = cmp.Or(q.ConfirmationID, a.ConfirmationID)
	q.CallID = cmp.Or(q.CallID, a.CallID)
	q.Tool, q.Agent = cmp.Or(q.Tool, a.Tool), cmp.Or(q.Agent, a.Agent)
	q.State = string(a.State)
	q.people(a)
	if q.Args == nil {
		q.Args = raw(a.Args)
	}
	q.ArgsDigest = cmp.Or(a.ArgsDigest, q.ArgsDigest)
	q.Fingerprint = cmp.Or(a.Fingerprint, q.Fingerprint)
	q.PolicyVersion = cmp.Or(a.PolicyVersion, q.PolicyVersion)
	if a.Replaces != "" {
		d := a.Difference
		q.Replaces, q.Difference = a.Replaces, &d
	}
	if !a.RequestedAt.IsZero() {
		q.RequestedAt = clock(a.RequestedAt)
	}
	if !a.ExpiresAt.IsZero() {
		q.ExpiresAt = clock(a.ExpiresAt)
	}
	if len(a.Entities) > 0 {
		q.Entities = nil
		for _, e := range a.Entities {
			seen, at := safety.Seen(e)
			q.Entities = append(q.Entities, Rested{
				Key: e.Key, Type: e.Type, Value: e.Value, Confidence: finite(e.Confidence), Seen: seen, SeenAt: clock(at), Conditions: conditions(a.Needs[e.Key]),
			})
		}
	}
	if len(a.NotChosen.Entities) > 0 {
		q.NotChosen = nil
		for _, e := range a.NotChosen.Entities {
			q.notChosen(a.NotChosen.Total, Alternative{Type: e.Type, Value: e.Value, Seen: shown(e.Seen), SeenAt: clock(e.SeenAt)})
		}
	}
	if len(a.Report) > 0 {
		q.addCheck(a.Report, Check{Row: -1, Stage: lastStage(a.State), At: clock(a.UpdatedAt), Verdict: a.Verdict})
	}
}

// conditions returns what needs say, nil for none.
func conditions(needs map[string]safety.Need) map[string]string {
	if len(needs) == 0 {
		return nil
	}
	out := make(map[string]string, len(needs))
	for name, n := range needs {
		out[name] = n.Condition
	}
	return out
}

// notChosen adds one of the things that were not chosen.
func (q *request) notChosen(total int, e Alternative) {
	if q.NotChosen == nil {
		q.NotChosen = &NotChosen{Total: total}
	}
	q.NotChosen.Entities = append(q.NotChosen.Entities, e)
}

// lastStage is the stage of the last check of an approval in the state, as far as the state tells:
// the row of the check is lost.
func lastStage(s safety.ApprovalState) string {
	switch s {
	case safety.StatePermitted, safety.StateExecuting, safety.StateExecuted, safety.StateFailed:
		return stageExecution
	}
	return "answer"
}
