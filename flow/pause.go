// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// ErrPause, as the error of a [Hook], has the run pause there and ask a person how it goes on. See [Before].
var ErrPause = errors.New("flow: pause")

// ErrAnswer says that a paused run was answered with a word that it does not know. The question stays open.
var ErrAnswer = errors.New("flow: this is no answer to a paused run")

// Before has a run pause before it runs the nodes. It asks with an ordinary input request, so any client can answer:
//
//   - go_on: the run goes on.
//   - skip: the node is passed over, or its output is dropped.
//   - rerun: the node that ended last is run again.
//   - go_back with the name of a node: the run goes on there, with the input that the node had before.
//   - cancel: the run ends.
//
// The answer is the word, as "go_back draft", or an object such as
// {"action": "go_back", "node": "draft", "state": {"tone": "formal"}}. The state is written before the run goes on.
// Another answer is [ErrAnswer]. The payload of the request has the actions and nodes that it takes. A member of a group
// has no way back to other nodes.
func Before(nodes ...string) Option {
	return func(g *Graph) { g.before = append(g.before, nodes...) }
}

// After is [Before] for the moment when the nodes have an output. The output stands in the request, and counts when the
// run goes on: only then is an edge taken.
func After(nodes ...string) Option {
	return func(g *Graph) { g.after = append(g.after, nodes...) }
}

// A Moment is where in a run a [Hook] is called. Its State is that of the run.
type Moment struct {
	State
	When   string // "before" or "after" a node, at an "edge" that is taken, or "late"
	Node   string // at an edge the one that it leaves
	To     string // where an edge leads
	Edge   string // the name of its condition
	Output any    // after a node
	Late   int64  // how many events of members the group has refused, this one included: it came too late
}

// Hook has the function called at each [Moment], for members of a group at the same time. The error [ErrPause] has the run
// pause before or after a node; another one there is an error of the node. At an edge or late there is none to return.
func Hook(f func(ctx agent.Context, m Moment) error) Option {
	return func(g *Graph) { g.hook = f }
}

// call calls the hook of the graph.
func (g *Graph) call(ctx agent.Context, m Moment) error {
	if g.hook == nil {
		return nil
	}
	return g.callHook(ctx, m)
}

func (g *Graph) callHook(ctx agent.Context, m Moment) (err error) {
	defer recovered(&err, "the hook "+m.When+" the node "+m.Node)
	m.State = StateOf(ctx)
	return g.hook(ctx, m)
}

// A sessionKey names a session.
type sessionKey struct {
	App     string `json:"app"`
	User    string `json:"user"`
	Session string `json:"session"`
}

// Pause has the run of the session pause at its next boundary, before or after a node, as [Before] says. The run is one
// of an agent of this very graph.
func (g *Graph) Pause(app, user, sessionID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.posted == nil {
		g.posted = make(map[sessionKey]bool)
	}
	g.posted[sessionKey{app, user, sessionID}] = true
}

// takePause says whether somebody called Pause for the session, once.
func (g *Graph) takePause(s session.Session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.posted) == 0 {
		return false
	}
	key := sessionKey{s.AppName(), s.UserID(), s.ID()}
	posted := g.posted[key]
	delete(g.posted, key)
	return posted
}

// Handler returns a handler that calls [Graph.Pause]: it takes a POST of {"app": …, "user": …, "session": …} as JSON.
// Mount it behind the login of the program's own API.
func (g *Graph) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s sessionKey
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
		dec.DisallowUnknownFields()
		switch {
		case r.Method != http.MethodPost:
			http.Error(w, "ask with POST", http.StatusMethodNotAllowed)
		// No form of a web page can send this type.
		case r.Header.Get("Content-Type") != "application/json":
			http.Error(w, "send one JSON object as application/json", http.StatusUnsupportedMediaType)
		case dec.Decode(&s) != nil || s.App == "" || s.User == "" || s.Session == "":
			http.Error(w, "send app, user and session", http.StatusBadRequest)
		default:
			g.Pause(s.App, s.User, s.Session)
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

// Where a run pauses.
const (
	before = "before"
	after  = "after"
)

// pauses says whether the run pauses here.
func (n *node) pauses(ctx agent.Context, when string, output any) (bool, error) {
	err := n.graph.call(ctx, Moment{When: when, Node: n.name, Output: output})
	pause := errors.Is(err, ErrPause) || slices.Contains(n.graph.before, n.name) && when == before || slices.Contains(n.graph.after, n.name) && when == after
	if errors.Is(err, ErrPause) {
		err = nil
	}
	if t := turnOf(ctx); t != nil && t.owner != nil && !n.member {
		pause = t.owner.takePause(ctx.Session()) || pause
	}
	return pause, err
}

// pausePrefix begins the ids of questions of paused runs.
const pausePrefix = "flow.pause/"

// ask returns the question of a run that pauses.
func (n *node) ask(ctx agent.Context, when string, output any) *session.Event {
	actions := []string{"go_on", "skip"}
	var nodes []string
	if !n.member {
		for _, x := range n.graph.nodes {
			if !x.member {
				nodes = append(nodes, x.name)
			}
		}
		actions = append(actions, "go_back")
	}
	if when == after || !n.member && len(StateOf(ctx).Path()) > 0 {
		actions = append(actions, "rerun")
	}
	actions = append(actions, "cancel")
	payload := map[string]any{"node": n.name, "when": when, "actions": actions, "nodes": nodes}
	if when == after {
		payload["output"] = output
	}
	return workflow.NewRequestInputEvent(ctx, session.RequestInput{
		InterruptID: pausePrefix + platform.NewUUID(ctx), Payload: payload,
		Message: fmt.Sprintf("The run pauses %s %q. How does it go on: %s?", when, n.name, strings.Join(actions, ", ")),
	})
}

// A decision is the answer to a paused run.
type decision struct {
	Action string         `json:"action"`
	Node   string         `json:"node"`
	State  map[string]any `json:"state"`
}

// pause returns what the question of a paused run says; nil for another question.
func (q *question) pause() map[string]any {
	if q.call == nil || !strings.HasPrefix(q.id, pausePrefix) {
		return nil
	}
	m, _ := q.call.Args["payload"].(map[string]any)
	return m
}

// decide reads the answer to a paused run.
func (q *question) decide(value any) (d decision, err error) {
	about := q.pause()
	if words, ok := value.(string); ok {
		d.Action, d.Node, _ = strings.Cut(strings.TrimSpace(words), " ")
	} else {
		data, _ := json.Marshal(value)
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		err = dec.Decode(&d)
	}
	actions, nodes := texts(about["actions"]), texts(about["nodes"])
	switch {
	case err != nil || !slices.Contains(actions, d.Action):
		return d, fmt.Errorf("%w: question %q takes %s, and not %v", ErrAnswer, q.id, strings.Join(actions, ", "), value)
	case d.Action == "go_back" && !slices.Contains(nodes, d.Node):
		return d, fmt.Errorf("%w: question %q: go_back takes one of the nodes %s, and not %q", ErrAnswer, q.id, strings.Join(nodes, ", "), d.Node)
	}
	return d, nil
}

// goOn does what the answer to the pause says. It returns false if the node is not to run.
func (n *node) goOn(ctx agent.Context, q *question, yield func(*session.Event, error) bool) bool {
	d := q.value.(decision)
	about := q.pause()
	if !q.decided {
		ev := session.NewEvent(ctx, ctx.InvocationID())
		note(ev, keyDecided, q.id)
		note(ev, keyAction, d.Action)
		ev.Actions.StateDelta = d.State
		if d.Action == "go_back" || d.Action == "rerun" && about["when"] == before {
			n.jump(ctx, ev, d.Node)
			yield(ev, nil)
			return false
		}
		if d.Action == "rerun" {
			note(ev, keyAgain, true)
		}
		if !yield(ev, nil) {
			return false
		}
	}
	ev := session.NewEvent(ctx, ctx.InvocationID())
	if d.Action == "go_on" {
		if _, isGroup := n.Node.(*group); isGroup || about["when"] == before {
			return true // a group makes its output of its members
		}
		ev.Output = about["output"]
	} else if d.Action == "rerun" {
		return true
	}
	n.leave(ctx, ev, yield)
	return false
}

// jump has the event lead to a node, "" for the one that has ended last.
func (n *node) jump(ctx agent.Context, ev *session.Event, to string) {
	path := ctx.Path()
	lv := turnOf(ctx).read(path[:strings.LastIndex(path, "/")])
	if to == "" {
		for _, s := range lv.steps {
			if !s.jump {
				to = s.node
			}
		}
	}
	note(ev, keyDone, true)
	note(ev, keyJump, true)
	note(ev, keyTo, to)
}

// begin does what comes before the node runs. It returns false if the node is not to run.
func (n *node) begin(ctx agent.Context, yield func(*session.Event, error) bool) bool {
	if q, ok := ctx.ResumedInput(paused); ok {
		return n.goOn(ctx, q.(*question), yield)
	}
	_, again := ctx.ResumedInput(woken)
	if _, known := ctx.ResumedInput(given); known || again {
		return true
	}
	pause, err := n.pauses(ctx, before, nil)
	if err != nil {
		n.fail(ctx, err, yield)
	} else if pause {
		yield(n.ask(ctx, before, nil), nil)
	}
	return err == nil && !pause
}

// confirmed says whether the node is a group whose result a person has let pass.
func (n *node) confirmed(ctx agent.Context) bool {
	v, _ := ctx.ResumedInput(paused)
	q, ok := v.(*question)
	_, isGroup := n.Node.(*group)
	return ok && isGroup && q.value.(decision).Action == "go_on" && q.pause()["when"] == after
}

// finish ends the node with an event, or pauses. It returns false if nothing may follow.
func (n *node) finish(ctx agent.Context, ev *session.Event, yield func(*session.Event, error) bool) bool {
	if n.graph == nil || noted(ev, keyRefused) != "" || n.confirmed(ctx) {
		return n.leave(ctx, ev, yield)
	}
	out, _ := outputOf(ev)
	pause, err := n.pauses(ctx, after, out)
	if err != nil {
		n.fail(ctx, err, yield)
		return false
	}
	if !pause {
		return n.leave(ctx, ev, yield)
	}
	q := n.ask(ctx, after, out)
	if g, ok := n.Node.(*group); ok {
		g.withdraw(ctx, q)
	} else if ev.Content != nil || len(ev.Actions.StateDelta) > 0 {
		ev.Output = nil // it ends when the run goes on
		delete(meta(ev), keyDone)
		if ev.NodeInfo != nil {
			ev.NodeInfo.MessageAsOutput = false
		}
		if !yield(ev, nil) {
			return false
		}
	}
	yield(q, nil)
	return false
}
