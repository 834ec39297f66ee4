// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// inputTool is what the approval of an input has in the place of a tool's name.
const inputTool = workflow.WorkflowInputFunctionCallName

// A node of a workflow that asks a human for an input waits for the next user message
// with its id: no callback stands between that message and the nodes behind it. So the
// gate of such an input is the message itself. Its request is recorded before anybody
// sees it, and a message that answers it starts a run only if the approval is good.

// guardsInput reports whether the inputs of a node are guarded: it, a node or a workflow
// around it, or the author of its events, is named by the configuration.
func (rec *Recorder) guardsInput(path, author string) bool {
	for path != "" {
		n := parseNode(path)
		if rec.inputs.match(n.name) {
			return true
		}
		path = n.parent
	}
	return author != "" && rec.inputs.match(author)
}

// inputRequest is a request for an input that is on record.
type inputRequest struct {
	call *genai.FunctionCall
	span string
}

// askInputs records the approvals that the event's requests for an input ask for. The
// event must not go on where it returns an error.
func (rec *Recorder) askInputs(ctx agent.InvocationContext, s *source) (err error) {
	if len(s.inputs) == 0 || !rec.guardsInput(s.path(), s.Author) {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			rec.counters.panics.Add(1)
			err = fmt.Errorf("internal error: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("contextgraph: the request for the input of %s is withdrawn, because it cannot be recorded as one for an approval: %w", s.name(), err)
			rec.log.Error(err.Error())
		}
	}()
	for _, in := range s.inputs {
		if err := rec.askInput(ctx, s, in); err != nil {
			return err
		}
	}
	return nil
}

// name is the node that emitted the event, or its author.
func (s *source) name() string {
	if path := s.path(); path != "" {
		return path
	}
	return s.Author
}

func (rec *Recorder) askInput(ctx context.Context, s *source, in inputRequest) error {
	r, fc := s.run, in.call
	switch {
	case rec.guard == nil:
		return errors.New("no guard is configured")
	case rec.closed.Load():
		return errors.New("contextgraph is closed")
	case r.nested:
		return errors.New("nobody can answer inside of an agent that runs as a tool")
	case fc.ID == "":
		return errors.New("it has no id")
	}
	ctx, cancel := detached(ctx, askTimeout)
	defer cancel()
	answer, after := r.decided(fc.ID, s.Author, s.Branch, s.ID)
	approval, err := rec.guard.Ask(ctx, safety.Request{
		Session: r.session, CallID: fc.ID, Tool: inputTool, Agent: s.Author,
		InvocationID: r.invocation, RunID: r.id, TraceID: r.traceID, SpanID: in.span,
		DecisionNode: graphsync.TechNodeKey(r.session, r.traceID, in.span), Answer: answer, After: after,
		Args: map[string]any{"node": s.name(), "message": fc.Args["message"], "payload": plain(fc.Args["payload"])},
	})
	if err == nil {
		err = rec.guard.Attach(ctx, approval.ID, fc.ID)
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
	if asked := s.RequestedInput; asked != nil && asked.InterruptID == fc.ID {
		asked.Payload = withSummary(asked.Payload, shown)
	}
	return nil
}

// plain returns v as JSON has it; nil for what JSON cannot hold, which the approver
// cannot see either.
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
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// input is the answer to a guarded input in the message of a run.
type input struct {
	response *genai.FunctionResponse
	// said is the answer as the gate saw it, as JSON.
	said     []byte
	approval safety.Approval
	outcome  safety.Outcome
	permit   *safety.Permit
}

// takeInputs lets the run begin only if every guarded input that its message answers is
// asked for, approved and unchanged. From then on the answers are used up. The error is
// for whoever sent the message: nothing of it is stored.
func (rec *Recorder) takeInputs(ctx agent.InvocationContext, r *run, msg *genai.Content) (err error) {
	if rec.inputs.empty() || msg == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			rec.counters.panics.Add(1)
			err = refusedInput("", &safety.Refusal{Code: safety.CodeInternal, Message: fmt.Sprintf("internal error: %v", p)})
		}
		if err != nil {
			rec.log.Warn("contextgraph: a message was refused", "session", r.session.ID, "error", err)
		}
	}()
	ictx, cancel := detached(ctx, answerTimeout)
	defer cancel()
	inputs, err := rec.inputsOf(ictx, ctx.Session(), r, msg)
	for _, in := range inputs {
		if e := rec.answerInput(ctx, ictx, r, in); e != nil && err == nil {
			err = e
		}
	}
	for _, in := range inputs {
		if err == nil {
			err = rec.permitInput(ctx, ictx, r, in)
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
		r.inputs = append(r.inputs, in)
	}
	return err
}

// inputsOf returns the guarded inputs that a message answers. A response counts by its
// id, whatever its name says: that is how a waiting node finds it. An answer to nothing
// is an error, and so is a second one to the same.
func (rec *Recorder) inputsOf(ctx context.Context, s session.Session, r *run, msg *genai.Content) (inputs []*input, err error) {
	if err := rec.settled(ctx, s, r, msg); err != nil {
		return nil, err
	}
	var ids []string
	for _, fr := range responses(msg) {
		approval, found, ferr := rec.findInput(ctx, s, r, fr)
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
		ids = append(ids, fr.ID)
		inputs = append(inputs, &input{response: fr, said: said(fr), approval: approval})
	}
	if err != nil {
		return nil, err // no answer of such a message is looked at
	}
	return inputs, nil
}

// findInput returns the approval that a response answers, and whether it is that of a
// guarded input.
func (rec *Recorder) findInput(ctx context.Context, s session.Session, r *run, fr *genai.FunctionResponse) (approval safety.Approval, guarded bool, err error) {
	refuse := func(code, message string, err error) (safety.Approval, bool, error) {
		return safety.Approval{}, false, refusedInput(fr.ID, &safety.Refusal{Code: code, Message: message, Err: err})
	}
	asked := fr.Name == inputTool
	node, known := rec.waiting(s, r, fr.ID)
	switch {
	case rec.sink == nil || rec.guard == nil || rec.closed.Load():
		// Turning the recorder off does not open a gate.
		if node != "" || asked && !known {
			return refuse(CodeRecorderOff, "Contextgraph's recorder is off or closed, so nothing is known of what this input rests on.", nil)
		}
		return approval, false, nil
	case fr.ID != "":
		approval, err = rec.guard.Find(ctx, r.session, fr.ID)
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
func (rec *Recorder) waiting(s session.Session, r *run, id string) (node string, known bool) {
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
		src := &source{Event: ev}
		if (asks || waits && !r.isAgent(src.path())) && rec.guardsInput(src.path(), ev.Author) {
			node = src.name()
		}
	}
	return node, known
}

// isAgent reports whether the node at path is an agent of the run, or no node at all.
func (r *run) isAgent(path string) bool {
	return path == "" || r.agentTree != nil && r.agentTree.FindAgent(parseNode(path).name) != nil
}

// args are those that the approver saw: the ledger has them.
func (in *input) args() map[string]any {
	args, _ := plain(json.RawMessage(in.approval.Args)).(map[string]any)
	return args
}

func (rec *Recorder) answerInput(ctx agent.InvocationContext, ictx context.Context, r *run, in *input) error {
	out, err := rec.guard.Answer(ictx, safety.Answer{
		Session: r.session, ConfirmationID: in.response.ID, Confirmed: true, RunID: r.id, Peer: fromPeer(ctx, r.session),
	})
	in.outcome = out
	rec.logCause(out)
	if out.Approval.ID != "" {
		in.approval = out.Approval
	}
	rec.emit(ctx, r, row{
		typ: schema.HITLInputRequestCompleted, agent: r.rootAgent, span: r.rootSpan, message: errText(answerError(out, err)),
	}, body{
		content: func(d jsonenc.Doc) { responseContent(d, in.response) },
		adk: func(d jsonenc.Doc) {
			askKeys(d, pauseOf(inputTool), in.response.ID)
			answerKeys(d, out)
			d.Bool("accepted", out.Accepted)
			d.Bool("enforced", true)
			if !in.approval.RequestedAt.IsZero() {
				d.Int("waited_ms", rec.now().Sub(in.approval.RequestedAt).Milliseconds())
			}
		},
	})
	rec.verdict(ctx, r, out.Report, "answer", r.rootSpan, in.approval)
	if out.Accepted {
		return nil
	}
	refusal := refusalOf(&call{name: "the input of " + in.node()}, out)
	refusal.Err = err
	return refusedInput(in.response.ID, refusal)
}

// node is the node that asked for the input.
func (in *input) node() string {
	node, _ := in.args()["node"].(string)
	return node
}

func (rec *Recorder) permitInput(ctx agent.InvocationContext, ictx context.Context, r *run, in *input) (err error) {
	a := in.approval
	var report safety.Report
	in.permit, report, err = rec.guard.Permit(ictx, safety.Execution{
		Session: r.session, ApprovalID: a.ID, CallID: a.CallID, Tool: a.Tool, Agent: a.Agent, RunID: r.id, Args: in.args(),
	})
	rec.verdict(ctx, r, report, "execution", r.rootSpan, a)
	if err != nil {
		return refusedInput(in.response.ID, err)
	}
	return nil
}

// askAnew is what to do about a request that is over.
const askAnew = "The request takes no answer any more: run the workflow again, which asks anew."

// refusedInput is the error of a run whose message was refused.
func refusedInput(id string, err error) error {
	next := askAnew
	var refusal *safety.Refusal
	if errors.As(err, &refusal) {
		switch refusal.Code {
		case safety.CodeCheckFailed, safety.CodeNotAuthorized, safety.CodeStore, safety.CodeInternal, safety.CodeClock, CodeRecorderOff:
			next = "The request stays open: the answer may be sent again when the cause is gone."
		}
		if refusal.Next != "" {
			next = refusal.Next
		}
		for _, a := range refusal.Report.Alerts() {
			err = fmt.Errorf("%w [%s] %s %s: %s -> %s.", err, a.Drift, a.EntityType, a.Entity, a.Before, a.After)
		}
		for _, f := range refusal.Report.Failures() {
			err = fmt.Errorf("%w [%s].", err, f)
		}
	}
	return fmt.Errorf("contextgraph: the answer to the input %q was not taken, so the run did not start and nothing of the message is stored. %s %w", id, next, err)
}
