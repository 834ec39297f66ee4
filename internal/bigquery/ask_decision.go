// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
)

// ExplainDecision returns what [Dataset.ReasoningChain] does, with the checks of the world that
// were made for the decision, what they found, and what humans answered. Checks and
// answers are of the 30 days since the decision, whatever q.To says. Truncated is also
// true when there are more of them than the limit.
func (d *Dataset) ExplainDecision(ctx context.Context, q ask.ReasoningQuestion) (ask.Explanation, error) {
	hops, err := hopLimit(q.Hops)
	if err != nil {
		return ask.Explanation{}, err
	}
	q.Hops = hops
	at, err := d.decision(ctx, q.Scope, q.Decision)
	if err != nil {
		return ask.Explanation{}, err
	}
	var out ask.Explanation
	if out.Reasoning, err = d.reasoning(ctx, at, q); err != nil {
		return ask.Explanation{}, err
	}
	checks, err := all[checkRow](ctx, d, verdictsJob(at))
	if err != nil {
		return ask.Explanation{}, err
	}
	answers, err := all[humanRow](ctx, d, answersJob(at))
	if err != nil {
		return ask.Explanation{}, err
	}
	var more bool
	checks, more = cut(checks, at.Limit)
	out.Truncated = out.Truncated || more
	for _, r := range checks {
		out.Checks = append(out.Checks, r.check())
	}
	answers, more = cut(answers, at.Limit)
	out.Truncated = out.Truncated || more
	for _, r := range answers {
		out.Answers = append(out.Answers, r.answer())
	}
	return out, nil
}

func verdictsJob(at decision) job {
	return askJob("ask_verdicts", nil, afterwards(at, sessionParams(at.located)))
}

func answersJob(at decision) job {
	return askJob("ask_answers", nil, afterwards(at, scopeParams(at.Scope)))
}

// afterwards are the parameters of what came of a decision, beside those of its session.
func afterwards(at decision, session []bq.QueryParameter) []bq.QueryParameter {
	return append(session, param("until", at.decidedAt.Add(ask.DefaultSince)), param("events", at.events), limitParam(at.located))
}

type checkRow struct {
	CheckID        string        `bigquery:"check_id"`
	CheckedAt      time.Time     `bigquery:"checked_at"`
	Verdict        bq.NullString `bigquery:"verdict"`
	Stage          bq.NullString `bigquery:"stage"`
	ApprovalID     bq.NullString `bigquery:"approval_id"`
	ConfirmationID bq.NullString `bigquery:"confirmation_id"`
	CallID         bq.NullString `bigquery:"call_id"`
	Tool           bq.NullString `bigquery:"tool"`
	Checked        bq.NullInt64  `bigquery:"entities_checked"`
	Stale          bq.NullInt64  `bigquery:"stale_entities"`
	Failed         bq.NullInt64  `bigquery:"failed_entities"`
	Alerts         []alertRow    `bigquery:"alerts"`
}

type alertRow struct {
	EntityType bq.NullString  `bigquery:"entity_type"`
	Value      bq.NullString  `bigquery:"value"`
	Attribute  bq.NullString  `bigquery:"attribute"`
	DriftType  bq.NullString  `bigquery:"drift_type"`
	Before     bq.NullString  `bigquery:"before"`
	After      bq.NullString  `bigquery:"after"`
	Severity   bq.NullFloat64 `bigquery:"severity"`
}

func (r checkRow) check() ask.Check {
	c := ask.Check{
		ID: r.CheckID, CheckedAt: r.CheckedAt.UTC(), Verdict: r.Verdict.StringVal, Stage: r.Stage.StringVal,
		ApprovalID: r.ApprovalID.StringVal, ConfirmationID: r.ConfirmationID.StringVal,
		CallID: r.CallID.StringVal, Tool: r.Tool.StringVal,
		Checked: int(r.Checked.Int64), Stale: int(r.Stale.Int64), Failed: int(r.Failed.Int64),
	}
	for _, a := range r.Alerts {
		c.Alerts = append(c.Alerts, ask.Alert{
			EntityType: a.EntityType.StringVal, Value: a.Value.StringVal, Attribute: a.Attribute.StringVal,
			DriftType: a.DriftType.StringVal, Before: a.Before.StringVal, After: a.After.StringVal, Severity: a.Severity.Float64,
		})
	}
	return c
}

type humanRow struct {
	EventID        string         `bigquery:"event_id"`
	AnsweredAt     time.Time      `bigquery:"answered_at"`
	ConfirmationID bq.NullString  `bigquery:"confirmation_id"`
	ApprovalID     bq.NullString  `bigquery:"approval_id"`
	Confirmed      bq.NullBool    `bigquery:"confirmed"`
	Accepted       bq.NullBool    `bigquery:"accepted"`
	Reason         bq.NullString  `bigquery:"reason"`
	Approver       bq.NullString  `bigquery:"approver"`
	WaitedMS       bq.NullFloat64 `bigquery:"waited_ms"`
}

func (r humanRow) answer() ask.Answer {
	return ask.Answer{
		ID: r.EventID, AnsweredAt: r.AnsweredAt.UTC(),
		ConfirmationID: r.ConfirmationID.StringVal, ApprovalID: r.ApprovalID.StringVal,
		Confirmed: r.Confirmed.Bool, Accepted: r.Accepted.Bool, Reason: r.Reason.StringVal, Approver: r.Approver.StringVal,
		Waited: milliseconds(r.WaitedMS.Float64),
	}
}

// milliseconds returns ms as a duration.
func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
