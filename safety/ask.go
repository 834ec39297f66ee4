// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Request is one tool call that asks for approval.
type Request struct {
	// Session, CallID, Tool and RunID are required. CallID is the id of the call that asks, RunID
	// the id of its run.
	Session record.Session
	CallID  string
	Tool    string
	RunID   string
	// Agent and InvocationID name who asks.
	Agent        string
	InvocationID string
	// DecisionNode is the key of the asking node in the graph. Answer is the event id of the row
	// that ended the asking model call. It is "" if no model asked; After is then the event id of
	// the last row of the run before the asking step began. See [record.Decision].
	DecisionNode string
	Answer       string
	After        string
	// TraceID and SpanID are the place of the request in the record.
	TraceID string
	SpanID  string
	// Args are the arguments of the call; see [ArgsDigest].
	Args map[string]any
	// Surroundings are what the call can read beside its arguments.
	Surroundings Surroundings
	// Declaration is a digest of how the tool is declared. The call runs only if it is the same then.
	Declaration string
	// Approvers is how many people have to approve, if it is more than the settings of the tool say.
	Approvers int
	// Chained says that the request follows the rules for asking again. A request that is not
	// chained replaces none, and is not refused because of an earlier one.
	Chained bool
	// Redoes is the id of the earlier request whose turn is done again, "" for none. A Chained request for the same
	// tool replaces it, with any arguments, unless it replaces another one or another one replaced it.
	Redoes string
	// Redact returns arguments, as JSON, without the parts that a [Difference] must not show.
	// If it is nil, a Difference shows no value of an argument.
	Redact func(args []byte) []byte
}

// Ask records a request for approval: the call, and the entities that it rests on according to the
// record. The request is pending. Show it to a person with [Approval.Shown].
//
// If Ask returns an error, it recorded nothing that could be approved, and the request must not be
// shown to anybody. Errors are missing fields, arguments without a digest ([ErrArgs]), a record
// that cannot be read, and a ledger that does not store. A request with the session, call and run
// of an earlier one is [ErrConflict]. A record that is incomplete or names no entity is no error
// here; such a request fails its check.
//
// Two requests are for the same call if they have the same tool and arguments. A Chained request
// supersedes the open requests for the same call of the same agent, and replaces the last of them: else
// a person who says yes to each has the call run as often. It also replaces the last request for the
// same call if that one ended by drift. Else it replaces the last
// request of the session for the same tool, with any arguments, that a person rejected with a
// [Answer.Change]. In the same turn, which is an invocation, Ask refuses it with a *[Refusal]
//
//   - if the step that asks has not read each changed attribute since, in the refusal or in
//     another result;
//   - if a person rejected the call in the turn;
//   - if another request replaced that one already and waits for an answer, but for one whose check failed;
//   - if the agent has asked for the call twice: nobody is asked a third time.
//
// In a later turn none of this refuses it.
//
// Unless [config.Guard.CheckBeforeAsking] is false, a request is checked first. Ask refuses one that no answer can make
// good, with a *[Refusal] that is Unasked. Of a Chained request the sources are asked, if the record says nothing
// against it; of one of the [InputTool] they are not.
func (g *Guard) Ask(ctx context.Context, r Request) (_ Approval, err error) {
	if g == nil {
		return Approval{}, errNilGuard
	}
	defer rescue(&err)
	if !named(r.Session) || r.CallID == "" || r.Tool == "" || r.RunID == "" {
		return Approval{}, errors.New("safety: a request needs app, user and id of a session, a call id, a tool and a run id")
	}
	sum, canonical, err := ArgsDigest(r.Args)
	if err != nil {
		return Approval{}, fmt.Errorf("safety: arguments of %s: %w", r.Tool, err)
	}
	before, err := g.earlier(ctx, &r, sum)
	if err != nil {
		return Approval{}, err
	}
	snap, err := g.collect(ctx, r.Session, r.decision(canonical))
	if err != nil {
		return Approval{}, fmt.Errorf("safety: %w", err)
	}
	if err := r.readAgain(before.replaced, snap.Entities); err != nil {
		return Approval{}, err
	}
	now, err := g.now()
	if err != nil {
		return Approval{}, err
	}
	now = stored(now)
	requester, authenticated := g.requester(ctx, r.Session)
	required := g.policy.required(snap.Entities, r.DecisionNode)
	a := Approval{
		ID: randomID(), Session: r.Session,
		CallID: r.CallID, Tool: r.Tool, Agent: r.Agent, InvocationID: r.InvocationID, RunID: r.RunID,
		DecisionNode: r.DecisionNode, Answer: r.Answer, After: r.After, TraceID: r.TraceID, SpanID: r.SpanID,
		ArgsDigest: sum, Args: canonical, Declaration: r.Declaration, Surroundings: r.Surroundings.clone(),
		Entities: required, Fingerprint: Fingerprint(required), NotChosen: ownNotChosen(snap.NotChosen),
		PolicyVersion: g.policy.version, Receipt: snap.Receipt, Gaps: slices.Clone(snap.Gaps),
		Requester: requester, RequesterAuthenticated: authenticated, Approvers: max(g.approvers(r.Tool, authenticated), r.Approvers),
		RequestedAt: now, ExpiresAt: now.Add(g.policy.RequestLifetime),
		State: StatePending, UpdatedAt: now, Replaces: before.replaced.ID, Chain: before.asked,
	}
	if a.Replaces != "" {
		a.Difference = difference(before.replaced, a, r.Redact)
	}
	q := check{policy: g.policy, approval: a, started: now, record: snap, recorded: true, others: before.all}
	q.prepare()
	a.Needs = q.needs(ctx, required)
	q.approval = a
	known := g.known(ctx, q)
	checked := g.beforeAsking(ctx, &r, q, known)
	if checked != nil && checked.hopeless() && g.policy.Mode != config.ModeObserve {
		return Approval{}, r.unasked(*checked)
	}
	err = g.ledger.Create(ctx, a.Clone())
	if errors.Is(err, ErrConflict) && before.redone { // another call of the turn that is done again was faster
		a.Replaces, a.Difference = "", Difference{}
		err = g.ledger.Create(ctx, a.Clone())
	}
	switch {
	case errors.Is(err, ErrConflict) && a.Replaces != "":
		// Another call was faster. The refusal is about its request.
		last := a.Replaces
		if faster, _ := g.earlier(ctx, &r, sum); faster.last.ID != "" {
			last = faster.last.ID
		}
		return Approval{}, r.refuse(CodeAsked, last, err, "A person is being asked for this very call of %s already.", r.Tool)
	case err != nil:
		return Approval{}, fmt.Errorf("safety: recording the request of %s: %w", r.Tool, err)
	}
	a.Total, a.Each = q.total(ctx)
	a.Money = q.money(r.Redact)
	a.Costs, a.NotChecked, a.Fails, a.Hopeless, a.Checked = q.costs(), q.notRead(), known.fails(), known.never(), checked
	if r.Chained {
		if a.Same, err = g.supersede(ctx, a); err != nil {
			return Approval{}, fmt.Errorf("safety: ending the earlier requests for this call of %s: %w", r.Tool, err)
		}
	}
	return a, nil
}

// Attach names the confirmation that will answer an approval. It may be repeated with the same name. A
// request that a later one superseded gets its name too, so that an answer to it says so. [ErrConflict]
// if the approval has another confirmation, or has ended otherwise, or if the confirmation belongs to
// another approval.
func (g *Guard) Attach(ctx context.Context, approvalID, confirmationID string) (err error) {
	if g == nil {
		return errNilGuard
	}
	defer rescue(&err)
	if approvalID == "" || confirmationID == "" {
		return errors.New("safety: attaching a confirmation needs the id of the approval and that of the confirmation")
	}
	err = g.ledger.Attach(ctx, approvalID, confirmationID)
	if errors.Is(err, ErrConflict) {
		if a, getErr := Get(ctx, g.ledger, approvalID); getErr == nil && a.ID == approvalID && a.ConfirmationID == confirmationID {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("safety: attaching confirmation %q: %w", confirmationID, err)
	}
	return nil
}

// askDeadline bounds how long sources may take before a person is asked.
const askDeadline = 3 * time.Second

// known returns what the record alone says of a request. A source is asked for nothing that this refuses: its answer
// would tell whoever made up a name whether there is such a thing. The report is never [Safe].
func (g *Guard) known(ctx context.Context, q check) Report {
	q.recordOnly = true
	return g.inspect(ctx, ctx, q)
}

// beforeAsking makes the check of a request before anybody is asked; nil if none is made. A request that no answer can
// make good wastes the time of a person. It replaces none of the later checks. known is what the record says of the request.
func (g *Guard) beforeAsking(ctx context.Context, r *Request, q check, known Report) *Report {
	switch {
	case !*g.policy.CheckBeforeAsking || !r.Chained && (r.Tool != InputTool || len(known.failures) == 0):
		return nil
	case len(known.failures) > 0:
		return &known
	}
	bound, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	report := g.inspect(bound, ctx, q)
	return &report
}

// hopeless reports whether no answer can make a request good that is checked now.
func (r Report) hopeless() bool {
	passing := slices.ContainsFunc(r.failures, Failure.passes)
	return r.Verdict() == Drift || slices.ContainsFunc(r.failures, func(f Failure) bool {
		// A sum over what no source said says no more than that.
		return !f.passes() && !(passing && f.Reason == ReasonPolicy)
	})
}

// unasked refuses a request before anybody is asked.
func (r *Request) unasked(report Report) *Refusal {
	report.approvalID = ""
	code, next := CodeCheckFailed, "Nobody was asked, and nothing was carried out: as it is, nobody could approve this call. Do what the failures say: look up what is missing, and then make the same call again; a person is asked then. Or choose another."
	if report.Verdict() == Drift {
		code, next = CodeDrift, "Nobody was asked, and nothing was carried out. You have read the present values with this. If the plan is still right with them, make the same call again, and a person is asked."
		var ways []string
		told, _ := report.Told()
		for _, a := range told {
			if way := a.EntityType + " with " + a.LookUp; a.LookUp != "" && !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
		if len(ways) > 0 {
			next += " If it is not, look up " + firstOf(ways, len(ways)) + ", and then ask again; or choose another."
		} else {
			next += " If it is not, choose another."
		}
	}
	var why []string
	for _, f := range report.Public() {
		if code != CodeDrift || f.Effect != effectFail { // a look-up heals no failure
			why = append(why, f.Text)
		}
	}
	refusal := refuse(code, Execution{Tool: r.Tool}, report, nil, "Nobody was asked about %s: %s.", r.Tool, joined(why))
	refusal.Unasked, refusal.Next = true, next
	return refusal
}

// never says why no later check can pass, "" where one can.
func (r Report) never() string {
	var said []string
	for _, f := range r.Findings() {
		if f.Hopeless {
			said = append(said, f.Text)
		}
	}
	return oneLine(firstOf(said, len(said)))
}

// fails returns what is known to fail, but for what a hint says in sentences of its own.
func (r Report) fails() (why []string) {
	for _, f := range r.failures {
		switch f.Reason {
		case ReasonActionNotRead, ReasonNotRead, ReasonArgumentDiffers:
			why = append(why, strings.TrimPrefix(f.name()+": ", " : ")+f.Detail)
		}
	}
	return why
}

// notYet names what the check before asking could not look at: "stock of Drug Ibuprofen (source is down)".
func (a Approval) notYet() (items []string) {
	if a.Checked == nil {
		return nil
	}
	for _, e := range a.Checked.results {
		failures := append(slices.Clone(e.Skipped), a.Checked.failures...)
		i := slices.IndexFunc(failures, func(f Failure) bool { return f.passes() && f.EntityType == e.Type && f.Entity == e.Value })
		if i < 0 {
			continue
		}
		what := word(e.Type) + " " + word(e.Value)
		if names := slices.Sorted(maps.Keys(e.Seen)); len(names) > 0 && names[0] != Exists {
			what = firstOf(names, len(names)) + " of " + what
		}
		items = append(items, what+" ("+causes[failures[i].Reason].waits+")")
	}
	return items
}

// notYetHint says it.
func (a Approval) notYetHint() string {
	items := a.notYet()
	return listed(hintNotYet+" ", items, len(items), maxNotYetHint)
}

// shownCheck returns the check before asking as [Approval.Shown] has it; nil if none was made.
func (a Approval) shownCheck() map[string]any {
	if a.Checked == nil {
		return nil
	}
	notYet := []any{}
	for _, item := range a.notYet() {
		notYet = append(notYet, item)
	}
	return map[string]any{"verdict": a.Checked.Verdict().String(), "at": stamp(a.Checked.checked), "not_yet": notYet}
}

// shownNow returns the present values of the attributes of e that a person is shown as they were read.
func (a Approval) shownNow(e entity.Canonical) map[string]any {
	if a.Checked == nil {
		return nil
	}
	out := make(map[string]any)
	for _, r := range a.Checked.results {
		for name := range e.Attributes {
			if now := r.Now[name]; r.Type == e.Type && r.Value == e.Value && !now.IsZero() {
				out[name] = show(name, now)
			}
		}
	}
	return out
}
