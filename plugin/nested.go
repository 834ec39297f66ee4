// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

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
		return p.run.RootSpan
	}
	return p.call.Span
}

// nest puts r below the call it runs in: one trace, and a link from either side.
func (r *Run) nest(p *parentCall) {
	r.parent = p
	r.TraceID, r.rootParent = p.run.TraceID, p.span()
	if p.call == nil {
		return
	}
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.call.child = &childRun{r.Session, r.ID}
}

// link writes attributes.adk.parent of a nested run.
func (r *Run) link(d jsonenc.Doc) {
	p := r.parent
	if p == nil {
		return
	}
	d.Key("parent")
	d.Open('{')
	d.Str("session_id", p.run.Session.ID)
	d.Str("app_name", p.run.Session.App)
	d.OptStr("user_id", p.run.Session.User)
	d.Str("run_id", p.run.ID)
	d.Str("span_id", p.span())
	if p.call != nil {
		d.OptStr("call_id", p.call.ID)
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
