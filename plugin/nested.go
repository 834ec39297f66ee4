// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// parentCall is the tool call that a run is inside of. Where a tool runs without one
// on record, as in a workflow tool node, call is nil.
type parentCall struct {
	run  *run
	call *call
}

// childRun is the run that went on inside of a tool call.
type childRun struct {
	session schema.Session
	id      string
}

// parentOf returns the recorded call that ctx belongs to, nil when there is no run.
func (rec *Recorder) parentOf(ctx agent.Context) *parentCall {
	r := rec.runs.lookup(ctx)
	if r == nil {
		return nil
	}
	return &parentCall{run: r, call: r.call(ctx)}
}

func (p *parentCall) span() string {
	if p.call == nil {
		return p.run.rootSpan
	}
	return p.call.span
}

// nest puts r below the call it runs in: one trace, and a link from either side.
func (r *run) nest(p *parentCall) {
	r.parent = p
	r.traceID, r.rootParent = p.run.traceID, p.span()
	if p.call == nil {
		return
	}
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.call.child = &childRun{r.session, r.id}
}

// link writes attributes.adk.parent of a nested run.
func (r *run) link(d jsonenc.Doc) {
	p := r.parent
	if p == nil {
		return
	}
	d.Key("parent")
	d.Open('{')
	d.Str("session_id", p.run.session.ID)
	d.Str("app_name", p.run.session.App)
	d.OptStr("user_id", p.run.session.User)
	d.Str("run_id", p.run.id)
	d.Str("span_id", p.span())
	if p.call != nil {
		d.OptStr("call_id", p.call.id)
	}
	d.Close('}')
}

// link writes attributes.adk.child_session of the call that the run is inside of.
func (c *childRun) link(d jsonenc.Doc) {
	if c == nil {
		return
	}
	d.Key("child_session")
	d.Open('{')
	d.Str("app_name", c.session.App)
	d.OptStr("user_id", c.session.User)
	d.Str("session_id", c.session.ID)
	d.Str("run_id", c.id)
	d.Close('}')
}

// noticeAgentTool says once per name that what an agent does is not recorded because
// it runs as a tool of ADK's own.
func (rec *Recorder) noticeAgentTool(t tool.Tool) {
	if rec.sink == nil || !isAgentTool(t) {
		return
	}
	if _, told := rec.unwired.LoadOrStore(t.Name(), true); !told {
		rec.log.Warn("contextgraph: what this agent does is not recorded and not guarded, because it runs as a tool with a runner of its own; make the tool with AgentTool in the place of agenttool.New",
			"tool", t.Name())
	}
}

// isAgentTool reports whether t is what ADK's agenttool.New returns.
func isAgentTool(t tool.Tool) bool {
	if p, ok := t.(*protected); ok {
		t = p.inner
	}
	typ := reflect.TypeOf(t)
	return typ != nil && typ.Kind() == reflect.Pointer && strings.HasSuffix(typ.Elem().PkgPath(), "/tool/agenttool")
}

// isTaskTool reports whether t is ADK's tool for an agent that is given tasks. ADK never
// runs it: the agent is started by the call itself.
func isTaskTool(t tool.Tool) bool {
	typ := reflect.TypeOf(t)
	return typ != nil && typ.Kind() == reflect.Pointer && typ.Elem().Name() == "TaskAgentTool" &&
		strings.HasSuffix(typ.Elem().PkgPath(), "/internal/workflowinternal")
}
