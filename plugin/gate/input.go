// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// inputTool stands in the approval of an input, in the place of a tool's name.
const inputTool = workflow.WorkflowInputFunctionCallName

// A node of a workflow that asks a human for an input waits for the next user message
// with its id: no callback stands between that message and the nodes behind it. So the
// gate of such an input is the message itself. Its request is recorded before anybody
// sees it, and a message that answers it starts a run only if the approval is good.

// guardsInput reports whether the inputs of a node are guarded: the configuration names it, a
// node or a workflow around it, or the author of its events.
func (g *Gate) guardsInput(path, author string) bool { return len(g.inputSettings(path, author)) > 0 }

// inputSettings returns the settings of the inputs of a node; none if they are not guarded.
func (g *Gate) inputSettings(path, author string) (out []config.InputSettings) {
	for path != "" {
		around, name := plugin.Node(path)
		out = append(out, config.Matching(g.settings.Inputs, name)...)
		path = around
	}
	if author != "" {
		out = append(out, config.Matching(g.settings.Inputs, author)...)
	}
	return out
}

// askInputs records the approvals that the event's requests for an input ask for. The
// event must not go on where it returns an error.
func (g *Gate) askInputs(ctx agent.InvocationContext, ev *session.Event, inputs []plugin.InputRequest) (err error) {
	if !g.guardsInput(pathOf(ev), ev.Author) {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			err = fmt.Errorf("internal error: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("contextgraph: the request for the input of %s is withdrawn, because it cannot be recorded as one for an approval: %w", asker(ev), err)
			g.log.Error(err.Error())
		}
	}()
	for _, in := range inputs {
		if err := g.askInput(ctx, ev, in); err != nil {
			return err
		}
	}
	return nil
}

// pathOf is the path of the workflow node that emitted the event, "" for none.
func pathOf(ev *session.Event) string {
	if ev.NodeInfo == nil {
		return ""
	}
	return ev.NodeInfo.Path
}

// asker is the node that emitted the event, or its author.
func asker(ev *session.Event) string { return cmp.Or(pathOf(ev), ev.Author) }

func (g *Gate) askInput(ctx agent.InvocationContext, ev *session.Event, in plugin.InputRequest) error {
	r, fc := g.rec.Lookup(ctx), in.Call
	switch {
	case r == nil:
		return errNotRecorded
	case g.guard == nil:
		return errors.New("no guard is configured")
	case g.closed.Load():
		return errors.New("contextgraph is closed")
	case r.ShowsLeft:
		return errRewound
	case r.Nested:
		return errors.New("nobody can answer inside of an agent that runs as a tool")
	case fc.ID == "":
		return errors.New("it has no id")
	}
	actx, cancel := r.Detach(ctx, askTimeout)
	defer cancel()
	approvers := 1
	for _, s := range g.inputSettings(pathOf(ev), ev.Author) {
		approvers = max(approvers, s.Approvers)
	}
	answer, after := r.Decided(fc.ID, ev.Author, ev.Branch, ev.ID)
	approval, err := g.guard.Ask(actx, safety.Request{
		Session: r.Session, CallID: fc.ID, Tool: inputTool, Agent: ev.Author,
		InvocationID: r.Invocation, RunID: r.ID, TraceID: r.TraceID, SpanID: in.Span,
		DecisionNode: graphsync.TechNodeKey(r.Session, r.TraceID, in.Span), Answer: answer, After: after, Approvers: approvers,
		Args: map[string]any{"node": asker(ev), "message": fc.Args["message"], "payload": plain(fc.Args["payload"])},
	})
	if err == nil {
		err = g.guard.Attach(actx, approval.ID, fc.ID)
	}
	if errors.Is(err, safety.ErrConflict) {
		err = fmt.Errorf("its id %q was used in this session before; give each request one of its own: %w", fc.ID, err)
	}
	if err != nil {
		return err
	}
	shown := approval.Shown()
	if fc.Args == nil {
		fc.Args = make(map[string]any)
	}
	fc.Args["payload"] = withSummary(fc.Args["payload"], shown)
	if asked := ev.RequestedInput; asked != nil && asked.InterruptID == fc.ID {
		asked.Payload = withSummary(asked.Payload, shown)
	}
	return nil
}

// plain returns v as JSON has it. It returns nil for a value that JSON cannot hold; the approver
// cannot see it either.
func plain(v any) (out any) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	out, _ = jsonenc.Decode(data)
	return out
}

// takeInputs lets the run begin only if every guarded input that its message answers is
// asked for, approved and unchanged. From then on the answers are used up. The error is
// for the sender of the message: nothing of it is stored. With recording off r has only the
// agent of the run.
func (g *Gate) takeInputs(ctx agent.InvocationContext, r *plugin.Run, msg *genai.Content) (err error) {
	if g.inputs.empty() || msg == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			err = refusedInput("", &safety.Refusal{Code: safety.CodeInternal, Message: fmt.Sprintf("internal error: %v", p)})
		}
		if err != nil {
			g.log.Warn("contextgraph: a message was refused", "session", r.Session.ID, "error", err)
		}
	}()
	ictx, cancel := r.Detach(ctx, answerTimeout)
	defer cancel()
	inputs, err := g.inputsOf(ictx, ctx.Session(), r, msg)
	for _, in := range inputs {
		if e := g.answerInput(ctx, ictx, r, in); e != nil && err == nil {
			err = e
		}
	}
	for _, in := range inputs {
		if err == nil {
			err = g.permitInput(ctx, ictx, r, in)
		}
	}
	for _, in := range inputs {
		if err != nil {
			return err
		}
		if e := in.permit.Consume(ictx, in.args()); e != nil {
			var refusal *safety.Refusal
			if errors.As(e, &refusal) {
				refusal.Next = askAnew // whatever the cause, the permit is used up
			}
			err = refusedInput(in.response.ID, e)
			continue
		}
		g.of(r).noteInput(in)
	}
	return err
}

// inputsOf returns the guarded inputs that a message answers. A response counts by its id and not
// by its name, because a waiting node finds it by the id. An answer to nothing is an error, and so
// is a second answer to one input.
func (g *Gate) inputsOf(ctx context.Context, s session.Session, r *plugin.Run, msg *genai.Content) (inputs []*input, err error) {
	if err := g.settled(ctx, s, r, msg); err != nil {
		return nil, err
	}
	var ids []string
	for _, fr := range plugin.Responses(msg) {
		approval, found, ferr := g.findInput(ctx, s, r, fr)
		switch {
		case ferr != nil:
			err = errors.Join(err, ferr)
			continue
		case !found:
			continue
		case slices.Contains(ids, fr.ID):
			err = errors.Join(err, refusedInput(fr.ID, &safety.Refusal{
				Code: safety.CodeInvalid, Message: "The message answers this input more than once.", Next: "Send one answer.",
			}))
			continue
		}
		if r.ShowsLeft {
			err = errors.Join(err, refusedInput(fr.ID, &safety.Refusal{Code: CodeRewound, Message: errRewound.Error(), Next: setupNext(CodeRewound)}))
			continue
		}
		ids = append(ids, fr.ID)
		inputs = append(inputs, &input{response: fr, said: said(fr), approval: approval})
	}
	if err != nil {
		return nil, err // no answer of such a message is looked at
	}
	return inputs, nil
}

// findInput returns the approval that a response answers, and whether it belongs to a guarded
// input.
func (g *Gate) findInput(ctx context.Context, s session.Session, r *plugin.Run, fr *genai.FunctionResponse) (approval safety.Approval, guarded bool, err error) {
	refuse := func(code, message string, err error) (safety.Approval, bool, error) {
		return safety.Approval{}, false, refusedInput(fr.ID, &safety.Refusal{Code: code, Message: message, Err: err})
	}
	asked := fr.Name == inputTool
	node, known := g.waiting(s, r, fr.ID)
	switch {
	case g.guard == nil || g.closed.Load():
		// Turning the recorder off does not open a gate.
		if node != "" || asked && !known {
			return refuse(CodeRecorderOff, "Contextgraph's recorder is off or closed, so nothing is known of what this input rests on.", nil)
		}
		return approval, false, nil
	case fr.ID != "":
		approval, err = g.guard.Find(ctx, r.Session, fr.ID)
	default:
		err = safety.ErrNotFound
	}
	switch {
	case err == nil && approval.Tool != inputTool && node != "":
		return refuse(safety.CodeOtherCall, fmt.Sprintf("The request on record under this id is not that for the input of %s.", node), nil)
	case err == nil:
		return approval, approval.Tool == inputTool, nil
	case !errors.Is(err, safety.ErrNotFound):
		if node == "" && known && !asked {
			return approval, false, nil // the answer to a tool, which has a gate of its own
		}
		return refuse(safety.CodeStore, "The request for this input could not be read.", err)
	case node != "":
		return refuse(safety.CodeUnknownRequest, fmt.Sprintf("No request for an input of %s is on record under this id.", node), nil)
	case asked && !known:
		return refuse(safety.CodeUnknownRequest, "This session has no such request for an input.", nil)
	}
	return approval, false, nil
}

// waiting returns the node of a guarded input that the session's events say waits for a
// response with the id, and whether anything does. A node that pauses in another way
// waits for its response all the same; an agent does so for its tools.
func (g *Gate) waiting(s session.Session, r *plugin.Run, id string) (node string, known bool) {
	if s == nil || s.Events() == nil {
		return "", false
	}
	for ev := range s.Events().All() {
		if ev == nil {
			continue
		}
		asks := ev.RequestedInput != nil && ev.RequestedInput.InterruptID == id
		waits := slices.Contains(ev.LongRunningToolIDs, id)
		if ev.Content != nil {
			for _, p := range ev.Content.Parts {
				if p != nil && p.FunctionCall != nil && p.FunctionCall.ID == id {
					asks, waits = asks || p.FunctionCall.Name == inputTool, true
				}
			}
		}
		known = known || asks || waits
		if path := pathOf(ev); (asks || waits && !isAgent(r, path)) && g.guardsInput(path, ev.Author) {
			node = asker(ev)
		}
	}
	return node, known
}

// isAgent reports whether the node at path is an agent of the run, or no node at all.
func isAgent(r *plugin.Run, path string) bool {
	if path == "" {
		return true
	}
	_, name := plugin.Node(path)
	return r.Agent != nil && r.Agent.FindAgent(name) != nil
}

// args are those that the approver saw: the ledger has them.
func (in *input) args() map[string]any {
	args, _ := plain(json.RawMessage(in.approval.Args)).(map[string]any)
	return args
}

func (g *Gate) answerInput(ctx agent.InvocationContext, ictx context.Context, r *plugin.Run, in *input) error {
	out, err := g.guard.Answer(ictx, safety.Answer{
		Session: r.Session, ConfirmationID: in.response.ID, Confirmed: true, RunID: r.ID, Peer: fromPeer(ctx, r.Session),
		Content: contentOf(in.said),
	})
	in.outcome = out
	g.logCause(out)
	if out.Approval.ID != "" {
		in.approval = out.Approval
	}
	x := plugin.Row{
		Type: record.HITLInputRequestCompleted, Agent: r.RootAgent, Span: r.RootSpan, Message: errText(answerError(out, err)),
		Content: plugin.ResponseContent(in.response), ADK: plugin.Object{{Key: "pause_kind", Value: "hitl_input"}},
	}
	addText(&x.ADK, "call_id", in.response.ID)
	addText(&x.ADK, "interrupt_id", in.response.ID)
	addAnswer(&x.ADK, out)
	add(&x.ADK, "accepted", out.Accepted)
	add(&x.ADK, "enforced", true)
	if !in.approval.RequestedAt.IsZero() {
		add(&x.ADK, "waited_ms", g.now().Sub(in.approval.RequestedAt).Milliseconds())
	}
	g.rec.Emit(ctx, r, x)
	g.verdict(ctx, r, out.Report, "answer", r.RootSpan, in.approval, false)
	if out.Accepted {
		return nil
	}
	refusal := refusalOf("the input of "+in.node(), out)
	refusal.Err = err
	return refusedInput(in.response.ID, refusal)
}

// node is the node that asked for the input.
func (in *input) node() string {
	node, _ := in.args()["node"].(string)
	return node
}

// contentOf returns a digest of an answer: people who approve one input have to give the same.
func contentOf(said []byte) string {
	sum := sha256.Sum256(said)
	return hex.EncodeToString(sum[:])
}

func (g *Gate) permitInput(ctx agent.InvocationContext, ictx context.Context, r *plugin.Run, in *input) (err error) {
	a := in.approval
	var report safety.Report
	in.permit, report, err = g.guard.Permit(ictx, safety.Execution{
		Session: r.Session, ApprovalID: a.ID, CallID: a.CallID, Tool: a.Tool, Agent: a.Agent, RunID: r.ID, Args: in.args(),
	})
	g.verdict(ctx, r, report, "execution", r.RootSpan, a, false)
	if err != nil {
		return refusedInput(in.response.ID, err)
	}
	return nil
}

// askAnew is the advice for a request that has ended.
const askAnew = "The request takes no answer any more: run the workflow again, which asks anew."

// refusedInput is the error of a run with a refused message.
func refusedInput(id string, err error) error {
	next := askAnew
	var refusal *safety.Refusal
	if errors.As(err, &refusal) {
		switch refusal.Code {
		case safety.CodeMoreApprovers:
			next = "The request stays open: another person has to send the same answer."
		case safety.CodeCheckFailed, safety.CodeNotAuthorized, safety.CodeOtherAnswer, safety.CodeStore, safety.CodeInternal, safety.CodeClock, CodeRecorderOff:
			next = "The request stays open: the answer may be sent again when the cause is gone."
		}
		if refusal.Next != "" {
			next = refusal.Next
		}
		for _, f := range refusal.Report.Public() {
			err = fmt.Errorf("%w [%s] %s", err, f.Reason, f.Sentence())
		}
	}
	return fmt.Errorf("contextgraph: the answer to the input %q was not taken, so the run did not start and nothing of the message is stored. %s %w", id, next, err)
}

// said returns an answer as JSON, nil for one that has no such form.
func said(fr *genai.FunctionResponse) []byte {
	data, err := json.Marshal(fr.Response)
	if err != nil {
		return nil
	}
	return data
}

// settled returns an error if the session has, in the run's turn, an answer to a guarded input
// whose run did not end well. ADK takes the node for done by that answer. An answer to another
// input of the turn would then run the nodes behind it, unchecked or once more.
func (g *Gate) settled(ctx context.Context, s session.Session, r *plugin.Run, msg *genai.Content) error {
	seen := make(map[string]bool)
	for _, fr := range plugin.Responses(msg) {
		seen[fr.ID] = true // the gate looks at it by itself
	}
	if len(seen) == 0 || r.Invocation == "" || s == nil || s.Events() == nil {
		return nil
	}
	for ev := range s.Events().All() {
		if ev == nil || ev.Author != genai.RoleUser || ev.InvocationID != r.Invocation {
			continue
		}
		for _, fr := range plugin.Responses(ev.Content) {
			if seen[fr.ID] {
				continue
			}
			seen[fr.ID] = true
			approval, guarded, err := g.findInput(ctx, s, r, fr)
			if err != nil {
				return err
			}
			if guarded && approval.State != safety.StateExecuted {
				return refusedInput(fr.ID, &safety.Refusal{
					Code: safety.CodeOtherCall, Tool: inputTool, ApprovalID: approval.ID,
					Message: fmt.Sprintf("The session has an answer to this input of the same turn, and its approval is %s, not executed.", approval.State),
				})
			}
		}
	}
	return nil
}
