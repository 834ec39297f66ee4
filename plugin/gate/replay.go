// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Replayable registers t as a tool that only reads and can be called again at any time,
// and returns it as it is. The keys of the session's state that its calls read are recorded.
// A repeated call that reads another value, or another key, fails. The error says why t cannot
// be registered.
func (g *Gate) Replayable(t tool.Tool) (tool.Tool, error) {
	if t == nil {
		return nil, errors.New("contextgraph: replayable: the tool is nil")
	}
	name := t.Name()
	refuse := func(format string, args ...any) (tool.Tool, error) {
		return nil, fmt.Errorf("contextgraph: the tool %q cannot be replayable: %s", name, fmt.Sprintf(format, args...))
	}
	_, isRunnable := t.(runnable)
	_, isProtected := g.behind(t)
	enforced, _ := g.enforced(name)
	switch {
	case isProtected || enforced:
		return refuse("it is guarded, so that its calls have an effect and need an approval; only tools that read can be called again for a check")
	case t.IsLongRunning():
		return refuse("it is long-running: its result comes later, and a check cannot wait for it")
	case adkreflect.IsAgentTool(t) || isRecordedAgent(t):
		return refuse("it runs an agent, whose model need not say the same again; make the tools below it replayable")
	case !isRunnable:
		return refuse("nothing in this process runs it: it has no Run with arguments and a result")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if other, known := g.replayable[name]; known && !sameTool(other, t) {
		return refuse("another tool of that name is; a check would not know which of them to call")
	}
	g.replayable[name] = t
	if o := newObserved(g, t); o != nil {
		g.observers[name] = o
		g.replays.Store(true)
	}
	return t, nil
}

// IsReplayable reports whether a tool of that name only reads: the program said so with Replayable.
func (g *Gate) IsReplayable(name string) bool { return g.registered(name) }

// registered reports whether a tool of that name was handed to Replayable.
func (g *Gate) registered(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.replayable[name] != nil
}

// repeats reports whether a registered tool may show things of a type: by a rule, or because it declares them itself.
func (g *Gate) repeats(typ string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.replayable {
		if of := g.replayed[name]; of == typ || of == "" {
			return true
		}
	}
	return false
}

// isRecordedAgent reports whether t was made by AgentTool.
func isRecordedAgent(t tool.Tool) bool {
	_, ok := t.(adkreflect.AgentRunner)
	return ok
}

// uncounted returns an error for a tool whose results count as a whole, by a rule that says so, and that no check can
// call again.
func (g *Gate) uncounted(t tool.Tool) error {
	rule, counted := g.counted[t.Name()]
	if !counted {
		return nil
	}
	if g.registered(t.Name()) {
		return nil
	}
	return fmt.Errorf("contextgraph: rule %q says others: count, and no check can call %q again: register it with Replayable, or remove the line", rule, t.Name())
}

// replayNote returns the note for the row of a call that begins. [schema.ReplayReady], with the
// digest of the arguments, says that the call can be repeated from the row. Any other note says
// why it cannot. It is "" for a tool that is not registered.
func (g *Gate) replayNote(t tool.Tool, args map[string]any) (note, digest string) {
	g.mu.Lock()
	registered, ok := g.replayable[t.Name()]
	g.mu.Unlock()
	if !ok || !sameTool(registered, bare(t)) {
		return "", ""
	}
	if !g.rec.Whole(record.ToolStarting) {
		return "the configuration changes or leaves out the content of " + record.ToolStarting, ""
	}
	digest, _, err := safety.ArgsDigest(args)
	if err != nil {
		return "its arguments cannot be recorded exactly", ""
	}
	encoded := g.rec.EncodeContent(args)
	if encoded.Redacted {
		return "its arguments were redacted", ""
	}
	var written map[string]any
	if json.Unmarshal(encoded.JSON, &written) == nil && encoded.Exact {
		if again, _, err := safety.ArgsDigest(written); err == nil && again == digest {
			return schema.ReplayReady, digest
		}
	}
	return "its arguments were cut or changed when they were recorded", ""
}

// replayEnd returns why a call that ends cannot be repeated after all, or "". The tool may have
// run with other arguments than the recorded ones, because callbacks behind the recorder share
// the map.
func (c *call) replayEnd(args map[string]any) string {
	if c.replay == "" {
		return ""
	}
	if digest, _, err := safety.ArgsDigest(args); err != nil || digest != c.replay {
		return "its arguments were changed after they were recorded"
	}
	return ""
}

// Replay calls the tool of a recorded call again, with the same arguments, and returns the row that
// would have ended the call. The call is not recorded; no callback and no model sees it. Replay
// fails if the tool tries to change anything; see [Gate.Replayable]. It does not run callbacks that
// changed the result of the first call, and does not repeat a call whose arguments a callback
// changed. ctx ends the call. The caller recovers a panic of the tool.
func (g *Gate) Replay(ctx context.Context, s record.Session, c graphsync.Call) (record.Event, error) {
	if !g.rec.Recording() || g.closed.Load() {
		return record.Event{}, errors.New("contextgraph's recorder is off or closed")
	}
	if c.Problem != "" {
		return record.Event{}, errors.New(c.Problem)
	}
	g.mu.Lock()
	t, ok := g.replayable[c.Tool]
	g.mu.Unlock()
	if !ok {
		return record.Event{}, errors.New("the tool is not registered with Replayable in this process")
	}
	if enforced, _ := g.enforced(c.Tool); enforced {
		return record.Event{}, errors.New("the tool is guarded: it is not called for a check")
	}
	args, err := safety.FreezeArgs(c.Args)
	if err != nil {
		return record.Event{}, err
	}
	p := &replay{ctx: ctx, session: s, agent: c.Agent, run: plugin.Within(ctx), same: g.rec.Same, state: c.State}
	defer p.end()
	actions := &session.EventActions{}
	result, err := t.(runnable).Run(agent.NewToolContext(p.context(), "", actions, nil), args)
	differed := p.differed()
	switch tried := p.tried(actions); {
	case differed != "":
		return record.Event{}, errors.New(differed)
	case tried != "":
		return record.Event{}, errors.New(tried + ", which a repeated call must not")
	case ctx.Err() != nil:
		return record.Event{}, ctx.Err()
	case err != nil:
		return record.Event{}, err
	}
	return g.rec.Rehearse(s, c.Agent, t, args, result, p.end())
}
