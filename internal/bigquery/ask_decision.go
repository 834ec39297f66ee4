// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
)

// ExplainDecision returns what [Dataset.ReasoningChain] does, with the checks of the world that
// were made for the decision, what they found, and what humans answered. Checks and
// answers are of the 30 days since the decision, whatever q.To says. Truncated is also
// true when there are more of them than the limit.
func (d *Dataset) ExplainDecision(ctx context.Context, q ask.ReasoningQuestion) (ask.Explanation, error) {
	at, reasoning, err := d.reasoning(ctx, q)
	if err != nil {
		return ask.Explanation{}, err
	}
	out := ask.Explanation{Reasoning: reasoning}
	out.Checks, err = all(ctx, d, askJob("ask_verdicts", nil, afterwards(at, sessionParams(at.located))), checkOf)
	if err != nil {
		return ask.Explanation{}, err
	}
	out.Answers, err = all(ctx, d, askJob("ask_answers", nil, afterwards(at, scopeParams(at.Scope))), answerOf)
	if err != nil {
		return ask.Explanation{}, err
	}
	var checks, answers bool
	out.Checks, checks = cut(out.Checks, at.Limit)
	out.Answers, answers = cut(out.Answers, at.Limit)
	out.Truncated = out.Truncated || checks || answers
	return out, nil
}

// afterwards are the parameters of what came of a decision, beside those of its session.
func afterwards(at decision, session []bq.QueryParameter) []bq.QueryParameter {
	return append(session, param("until", at.decidedAt.Add(ask.DefaultSince)), param("events", at.events), limitParam(at.located))
}

func checkOf(r *row) ask.Check {
	c := ask.Check{
		ID: r.text("check_id"), CheckedAt: r.time("checked_at"), Verdict: r.text("verdict"), Stage: r.text("stage"),
		ApprovalID: r.text("approval_id"), ConfirmationID: r.text("confirmation_id"), CallID: r.text("call_id"), Tool: r.text("tool"),
		Checked: r.int("entities_checked"), Stale: r.int("stale_entities"), Failed: r.int("failed_entities"),
	}
	for _, a := range r.rows("alerts") {
		c.Alerts = append(c.Alerts, ask.Alert{
			EntityType: a.text("entity_type"), Value: a.text("value"), Attribute: a.text("attribute"), DriftType: a.text("drift_type"),
			Before: a.text("before"), After: a.text("after"), Severity: a.float("severity"),
		})
	}
	return c
}

func answerOf(r *row) ask.Answer {
	return ask.Answer{
		ID: r.text("event_id"), AnsweredAt: r.time("answered_at"),
		ConfirmationID: r.text("confirmation_id"), ApprovalID: r.text("approval_id"),
		Confirmed: r.flag("confirmed"), Accepted: r.flag("accepted"), Reason: r.text("reason"), Approver: r.text("approver"),
		Waited: r.duration("waited_ms"),
	}
}
