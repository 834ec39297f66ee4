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

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Replayable registers t as a tool that only reads and can be called again at any time,
// and returns it as it is. The keys of the session's state that its calls read are recorded,
// and a repeated call that reads another value, or another key, fails. The error says why a
// tool cannot be one.
func (rec *Recorder) Replayable(t tool.Tool) (tool.Tool, error) {
	if t == nil {
		return nil, errors.New("contextgraph: replayable: the tool is nil")
	}
	name := t.Name()
	refuse := func(format string, args ...any) (tool.Tool, error) {
		return nil, fmt.Errorf("contextgraph: the tool %q cannot be replayable: %s", name, fmt.Sprintf(format, args...))
	}
	_, isRunnable := t.(runnable)
	_, isProtected := rec.behind(t)
	enforced, _ := rec.enforced(name)
	switch {
	case isProtected || enforced:
		return refuse("it is guarded, so that its calls have an effect and need an approval; only tools that read can be called again for a check")
	case t.IsLongRunning():
		return refuse("it is long-running: its result comes later, and a check cannot wait for it")
	case isAgentTool(t) || isRecordedAgent(t):
		return refuse("it runs an agent, whose model need not say the same again; make the tools below it replayable")
	case !isRunnable:
		return refuse("nothing in this process runs it: it has no Run with arguments and a result")
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if other, known := rec.replayable[name]; known && !sameTool(other, t) {
		return refuse("another tool of that name is; a check would not know which of them to call")
	}
	if rec.replayable == nil {
		rec.replayable = make(map[string]tool.Tool)
	}
	rec.replayable[name] = t
	if o := newObserved(rec, t); o != nil {
		if rec.observers == nil {
			rec.observers = make(map[string]*observed)
		}
		rec.observers[name] = o
		rec.replays.Store(true)
	}
	return t, nil
}

// isRecordedAgent reports whether t is what AgentTool returns.
func isRecordedAgent(t tool.Tool) bool {
	_, ok := t.(*agentTool)
	return ok
}

// sameTool compares tools; one that cannot be compared is the same as none.
func sameTool(a, b tool.Tool) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// replayNote says for the row of a call that begins whether the call can be repeated
// from it: [schema.ReplayReady], or why not, or "" for a tool that is not registered. The
// digest of the arguments is with the first.
func (rec *Recorder) replayNote(t tool.Tool, args map[string]any) (note, digest string) {
	rec.mu.Lock()
	registered, ok := rec.replayable[t.Name()]
	rec.mu.Unlock()
	if !ok || !sameTool(registered, bare(t)) {
		return "", ""
	}
	if !rec.full(schema.ToolStarting) {
		return "the configuration changes or leaves out the content of " + schema.ToolStarting, ""
	}
	digest, _, err := safety.ArgsDigest(args)
	if err != nil {
		return "its arguments cannot be recorded exactly", ""
	}
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	w.Reset()
	w.Doc(contentShare).Value(args)
	if w.Redacted() > 0 {
		return "its arguments were redacted", ""
	}
	var written map[string]any
	if json.Unmarshal(w.Bytes(), &written) == nil && !w.Truncated() {
		if again, _, err := safety.ArgsDigest(written); err == nil && again == digest {
			return schema.ReplayReady, digest
		}
	}
	return "its arguments were cut or changed when they were recorded", ""
}

// replayEnd says for the row of a call that ends why the call cannot be repeated after all,
// or returns "": the tool may have run with other arguments than were recorded, because
// callbacks behind the recorder share the map.
func (c *call) replayEnd(args map[string]any) string {
	if c.replay == "" {
		return ""
	}
	if digest, _, err := safety.ArgsDigest(args); err != nil || digest != c.replay {
		return "its arguments were changed after they were recorded"
	}
	return ""
}

// Replay calls the tool of a recorded call again, with the same arguments, and returns
// the row that would have ended the call. It is not recorded, no callback and no model
// sees it, and whatever the tool tries to change makes it fail; see [Recorder.Replayable].
// What a callback of the agent or of a plugin did to the result is not done again; a call
// whose arguments one changed is not repeated. ctx ends the call; a panic of the tool is the caller's.
func (rec *Recorder) Replay(ctx context.Context, s schema.Session, c graphsync.Call) (schema.Event, error) {
	if rec.sink == nil || rec.closed.Load() {
		return schema.Event{}, errors.New("contextgraph's recorder is off or closed")
	}
	if c.Problem != "" {
		return schema.Event{}, errors.New(c.Problem)
	}
	rec.mu.Lock()
	t, ok := rec.replayable[c.Tool]
	rec.mu.Unlock()
	if !ok {
		return schema.Event{}, errors.New("the tool is not registered with Replayable in this process")
	}
	if enforced, _ := rec.enforced(c.Tool); enforced {
		return schema.Event{}, errors.New("the tool is guarded: it is not called for a check")
	}
	args, err := safety.FreezeArgs(c.Args)
	if err != nil {
		return schema.Event{}, err
	}
	p := &replay{ctx: ctx, session: s, agent: c.Agent, run: runOf(ctx), rec: rec, state: c.State}
	defer p.end()
	actions := &session.EventActions{}
	result, err := t.(runnable).Run(agent.NewToolContext(p.context(), "", actions, nil), args)
	differed := p.differed()
	switch tried := p.tried(actions); {
	case differed != "":
		return schema.Event{}, errors.New(differed)
	case tried != "":
		return schema.Event{}, errors.New(tried + ", which a repeated call must not")
	case ctx.Err() != nil:
		return schema.Event{}, ctx.Err()
	case err != nil:
		return schema.Event{}, err
	}
	if f, failed := rec.resultError(t, args, result); failed {
		return schema.Event{}, errors.New(f.message)
	}
	return rec.replayed(s, t, c, args, result, p.end())
}

// replayed writes the row of a repeated call as that of the first one was written, so
// that the same rules find the same things in it.
func (rec *Recorder) replayed(s schema.Session, t tool.Tool, c graphsync.Call, args, result map[string]any, entities []byte) (schema.Event, error) {
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	w.Reset()
	p := rec.policies[schema.ToolCompleted]
	row := schema.Event{
		EventType: schema.ToolCompleted, Agent: c.Agent, SessionID: s.ID, UserID: s.User, AppName: s.App, Status: schema.StatusOK,
		Timestamp: rec.now().UnixMicro(),
	}
	cut := false
	if p.content != ContentNone {
		toolContent(w.Doc(contentShare), &call{name: c.Tool, origin: originOf(t, args)}, "result", result)
		cut = w.Truncated()
		if rec.options.Format != nil || p.content == ContentDigest {
			cut = rec.rewrite(w, row.EventType, p.content) || cut
		}
		row.Content = bytes.Clone(w.Bytes())
	}
	atEnd, whole := rec.replayedArgs(c.Tool, args)
	if cut || w.Truncated() || !whole {
		return schema.Event{}, errors.New("its result is larger than what is recorded of one (record.max_row, record.max_string)")
	}
	row.Attributes = slices.Concat([]byte(`{"adk":{`), atEnd, []byte(`},"entities":[`), entities, []byte(`]}`))
	return row, nil
}

// replayedArgs returns the member with the arguments at the end of a repeated call, where
// the first one has it, and false if they were cut.
func (rec *Recorder) replayedArgs(tool string, args map[string]any) ([]byte, bool) {
	if rec.options.ArgsAtEnd == nil || !rec.options.ArgsAtEnd(tool) {
		return nil, true
	}
	v, ok := rec.payload(schema.ToolStarting, args)
	if !ok {
		return nil, true
	}
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	w.Reset()
	w.Doc(attributesShare).Any("args", v)
	return bytes.Clone(w.Bytes()), !w.Truncated()
}

// replays writes the repeated calls that a report rests on, each once.
func replays(d jsonenc.Doc, report safety.Report) {
	var list []safety.Origin
	for _, e := range report.Entities() {
		for _, o := range e.Origins {
			if o.Kind == safety.OriginReplay && !slices.ContainsFunc(list, func(l safety.Origin) bool { return l.Call == o.Call && l.Name == o.Name }) {
				list = append(list, o)
			}
		}
	}
	if len(list) > 0 {
		d.Any("replays", list)
	}
}
