// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// explain adds to the approvals what only the whole session can say: which of its
// entities they rest on, the paths to them, and the history.
func (x *builder) explain(s *Session) {
	known := thingsOf(s.Entities, x.graph.Entities())
	keys := make(map[string]bool, len(s.Entities))
	for i := range s.Entities {
		keys[s.Entities[i].Key] = true
	}
	for i := range s.Approvals {
		a := &s.Approvals[i]
		a.Why = x.why(a.Span)
		a.History = slices.Clone(x.History[a.ID])
		for n := range a.History {
			a.History[n].At = clock(a.History[n].At)
		}
		keyed(known, keys, a.Entities)
		for n := range a.Checks {
			keyed(known, keys, a.Checks[n].Entities)
		}
	}
}

// keyed sets the keys of those entities that the session has.
func keyed(known things, keys map[string]bool, rested []Rested) {
	for i := range rested {
		if r := &rested[i]; !keys[r.Key] {
			r.Key = known[thing(r.Type, r.Value)]
		}
	}
}

// why returns the paths from the entities of a request to the request.
func (x *builder) why(span string) []Why {
	out := []Why{}
	reasons, err := x.graph.Why(span)
	if err != nil {
		return out // the span of the request is not on record
	}
	for _, r := range reasons {
		w := Why{
			Entity: r.Entity.Key, Type: r.Entity.Type, Value: r.Entity.Value, Origin: r.Origin.String(), Note: unshown(r.Origin),
			Hops: r.Hops, Path: []WhyStep{},
		}
		for _, step := range r.Path {
			w.Path = append(w.Path, WhyStep{Span: step.Node.Key, Edge: string(step.Edge)})
		}
		out = append(out, w)
	}
	return out
}

// unshown says that no result showed an entity, "" where one did.
func unshown(o graphsync.Origin) string {
	who := ""
	switch o {
	case graphsync.OriginNamed:
		who = "only named there"
	case graphsync.OriginAction:
		who = "named by the action"
	default:
		return ""
	}
	return fmt.Sprintf("%s; no result in the %d steps before the request shows it", who, graphsync.DefaultHops)
}

// explanation returns the meaning of the status and the next step.
func (q *request) explanation() string {
	what := cmp.Or(q.Tool, "the call")
	if q.Kind == kindInput || q.Kind == kindCredential {
		what = "the " + q.Kind
	}
	if !q.guarded {
		return q.unguarded(what)
	}
	if !q.Enforced && (q.Execution != nil || q.Status == StatusDrift || q.Status == StatusCheckFailed) {
		return q.observed(what)
	}
	if i := slices.IndexFunc(q.Answers, func(a Answer) bool { return a.resolves() }); i >= 0 {
		return fmt.Sprintf("%s began, and its end is not on record. %s Nobody saw it.", capital(what), q.Answers[i].progress().Text)
	}
	switch q.Status {
	case StatusPending:
		return q.waiting(what)
	case StatusSafe:
		return fmt.Sprintf("Approved, and nothing that %s rests on had changed at the last check. It is checked once more right before it runs.", what)
	case StatusDrift:
		return fmt.Sprintf("The world changed after %s was asked for%s. It was blocked for good: it needs a new request, with the present values or for a new plan.", what, q.changes())
	case StatusCheckFailed:
		if q.Overridden {
			return "Approved, and about to run." + q.overriding()
		}
		return fmt.Sprintf("It could not be shown that what %s rests on is unchanged%s, so it was blocked: without proof that it is safe, nothing runs. "+
			"That is not a sign of a change. The request stays open%s: approve it again when the cause is gone, and it will be checked again.", what, q.failures(), q.until())
	case StatusRejected:
		if q.Change != "" {
			return fmt.Sprintf("Rejected%s, who wants another plan: %s %s did not run; it needs a new request.", q.by(), sentence(q.Change), capital(what))
		}
		return fmt.Sprintf("Rejected%s. %s did not run; it needs a new request.", q.by(), capital(what))
	case StatusSuperseded:
		return fmt.Sprintf("The same call was asked for again, and the later request counts. No answer to this one lets %s run.", what)
	case StatusExpired:
		return fmt.Sprintf("Nothing came of it in time%s. %s can not run any more; it needs a new request.", q.since(), capital(what))
	case StatusExecuted:
		if q.Overridden {
			return fmt.Sprintf("Approved%s, and %s ran without an error.", q.by(), what) + q.overriding()
		}
		return fmt.Sprintf("Approved%s, checked, and %s ran without an error.", q.by(), what)
	case StatusFailed:
		if q.Overridden {
			return fmt.Sprintf("Approved%s; %s ran and returned an error.", q.by(), what) + q.overriding()
		}
		return fmt.Sprintf("Approved%s and checked; %s ran and returned an error. What it did before that is not known here, and it is not repeated.", q.by(), what)
	case StatusInDoubt:
		return fmt.Sprintf("%s was started and its end is not on record: either it is still running, or its process ended and nobody knows whether it took effect. "+
			"It is never repeated by itself. Look at the system that it acts on, then say what came of it, on the page or with contextgraph resolve.", capital(what))
	}
	return ""
}

// waiting explains a request that is open and has no failed check.
func (q *request) waiting(what string) string {
	if waits := q.needsMore(); waits != "" {
		return fmt.Sprintf("%s. %s waits for them%s. What it rests on is checked at each answer.", waits, capital(what), q.until())
	}
	if n := len(q.Answers); n > 0 && !q.Answers[n-1].Accepted {
		return fmt.Sprintf("The last answer was not taken: %s %s waits for another one%s.", sentence(q.Answers[n-1].why()), capital(what), q.until())
	}
	if len(q.Warnings) > 0 {
		return fmt.Sprintf("%s waits for a human%s. %s", capital(what), q.until(), strings.Join(q.Warnings, " "))
	}
	return fmt.Sprintf("%s waits for a human%s. When it is approved, what it rests on is checked against the world of that moment.", capital(what), q.until())
}

// observed explains a call that no verdict could have stopped.
func (q *request) observed(what string) string {
	ended := cmp.Or(map[Status]string{
		StatusExecuted: "ran without an error", StatusFailed: "ran and returned an error", StatusInDoubt: "was started and its end is not on record",
	}[q.Status], "may run whatever a check says, and no run of it is on record")
	verdict := "No check is on record."
	if checks := q.deciding(); len(checks) > 0 {
		switch checks[len(checks)-1].Verdict {
		case verdictSafe:
			verdict = "The last check was safe."
		case verdictDrift:
			verdict = "The check found that the world had changed" + q.changes() + "; had the guard been enforced, it would have been blocked."
		default:
			verdict = "The check failed" + q.failures() + "; had the guard been enforced, it would have been blocked."
		}
	}
	return fmt.Sprintf("%s %s. It was only observed, not guarded. %s", capital(what), ended, verdict)
}

// unguarded explains a request that no guard knows of.
func (q *request) unguarded(what string) string {
	const none = "No guard looked at it, so nothing was checked."
	switch q.Status {
	case StatusPending:
		if len(q.Answers) > 0 {
			return fmt.Sprintf("A human said yes, and no run of %s is on record yet. %s", what, none)
		}
		return fmt.Sprintf("%s waits for a human. %s", capital(what), none)
	case StatusRejected:
		return fmt.Sprintf("Rejected. %s", none)
	case StatusExecuted:
		if q.Kind != KindConfirmation {
			return fmt.Sprintf("It was answered, and the run went on. %s", none)
		}
		return fmt.Sprintf("A human said yes, and %s ran without an error. %s", what, none)
	case StatusFailed:
		return fmt.Sprintf("A human said yes; %s ran and returned an error. %s", what, none)
	case StatusInDoubt:
		return fmt.Sprintf("A human said yes; %s was started and its end is not on record. %s", what, none)
	}
	return none
}

// changes names what the last check that decided found to have changed.
func (q *request) changes() string {
	for _, k := range slices.Backward(q.deciding()) {
		if text := k.changes(); text != "" {
			return text
		}
	}
	return ""
}

func (k *Check) changes() string {
	var parts []string
	for _, a := range k.Alerts {
		parts = append(parts, fmt.Sprintf("%s %s: %s → %s", a.EntityType, a.Entity, a.Before, a.After))
	}
	return inBrackets(parts)
}

// failures names what the last check that decided could not do.
func (q *request) failures() string {
	for _, k := range slices.Backward(q.deciding()) {
		if text := k.failures(); text != "" {
			return text
		}
	}
	return ""
}

func (k *Check) failures() string {
	var parts []string
	for _, f := range k.Failures {
		if f.Entity != "" {
			parts = append(parts, fmt.Sprintf("%s %s could not be checked", f.EntityType, f.Entity))
		} else {
			parts = append(parts, cmp.Or(f.Detail, f.Reason))
		}
	}
	return inBrackets(parts)
}

// inBrackets joins some parts, and is "" for none.
func inBrackets(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + joinSome(parts) + ")"
}

// joinSome joins the first three parts and counts the others.
func joinSome(parts []string) string {
	if n := len(parts) - 3; n > 0 {
		parts = append(parts[:3:3], fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, "; ")
}

// by names all who approved, or who rejected.
func (q *request) by() string {
	if n := len(q.Consents); n > 0 && q.Status != StatusRejected {
		return " by " + strings.Join(q.Consents, ", ")
	}
	for _, a := range slices.Backward(q.Answers) {
		if a.Approver != "" {
			return " by " + a.Approver
		}
	}
	if q.ledger != nil && q.ledger.Approver != "" {
		return " by " + q.ledger.Approver
	}
	return ""
}

// sentence returns a text that ends like a sentence.
func sentence(s string) string {
	if s = strings.TrimSpace(s); strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func (q *request) until() string {
	if q.ExpiresAt.IsZero() {
		return ""
	}
	return " until " + q.ExpiresAt.Format(timeFormat)
}

func (q *request) since() string {
	if q.ExpiresAt.IsZero() {
		return ""
	}
	return ": it expired at " + q.ExpiresAt.Format(timeFormat)
}

const timeFormat = "2006-01-02 15:04:05 MST"

func capital(s string) string {
	if rest, ok := strings.CutPrefix(s, "the "); ok {
		return "The " + rest
	}
	return s
}
