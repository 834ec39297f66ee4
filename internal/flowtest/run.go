// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The session of a flow.
const (
	appName   = "flow"
	sessionID = "s1"
)

// run is a flow under way.
type run struct {
	flow      *Flow
	journal   string
	memory    store.Memory // without a journal
	place     *place
	sessions  session.Service
	artifacts artifact.Service
	off       bool           // nothing is recorded
	instead   *genai.Content // what it answers in the place of a run
	becomes   *genai.Content // what a plugin of the host makes of the message of a turn
	ids       []string       // of sessions, in the order of their first turn
	leave     func()         // the client of the turn goes away

	cg     *contextgraph.Instance
	runner *runner.Runner
	tools  map[string]tool.Tool
	agents map[string]agent.Agent

	mu      sync.Mutex
	offset  time.Duration
	looks   map[string]*look
	script  moves
	made    map[string]int // ids, by what they are of
	asked   []*request
	refused []*refusal
	effects int
	calls   map[string]int
	trace   []string
	words   words
	mistake error // of whoever wrote the flow
	// misasked are turns that asked for other tools than their steps say.
	misasked []string
}

// Run runs the flow over a store in memory, or, if path is not empty, over the journal that it names: a
// file that does not exist, or an empty journal. An error means that the flow could not be run, not that it ended otherwise than expected.
func (f *Flow) Run(ctx context.Context, path string) (_ *Result, err error) {
	r := &run{
		flow: f, journal: path, place: &place{now: overlay(nil, f.World), down: make(map[string]bool), stale: make(map[string]duration)},
		sessions: session.InMemoryService(), artifacts: artifact.InMemoryService(), looks: maps.Clone(f.Tools), script: make(moves),
		calls: make(map[string]int), made: make(map[string]int), tools: make(map[string]tool.Tool),
	}
	if err = f.invalid; err == nil {
		err = r.open(ctx)
	}
	if err != nil && f.mayBeInvalid() {
		return &Result{Calls: []Call{{State: unstarted}}, Trace: []string{err.Error()}, words: words{Refusal: []string{err.Error()}}}, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	defer func() { err = errors.Join(err, r.cg.Close(ctx)) }()
	for i, s := range f.Steps {
		err := r.step(ctx, s)
		if err == nil {
			err = r.mistake
		}
		if err != nil {
			return nil, fmt.Errorf("%s: step %d: %w", f.Path, i+1, err)
		}
	}
	return r.result(ctx)
}

// open makes the instance, the agents and the runner.
func (r *run) open(ctx context.Context) error {
	cfg := r.flow.cfg
	cfg.Journal.Path, cfg.Journal.CommitInterval = r.journal, time.Millisecond
	cfg.Record.Artifacts.Store = config.StoreOff
	cfg.BigQuery = config.BigQuery{} // nothing leaves the machine
	if r.off {
		cfg.Enabled = new(false)
	}
	var checked []string
	cfg.Checkers = slices.Clone(cfg.Checkers)
	for _, c := range cfg.Checkers {
		if c.Replay == nil {
			checked = append(checked, c.Type)
		}
	}
	cfg.Checkers = slices.DeleteFunc(cfg.Checkers, func(c config.Checker) bool { return c.Replay == nil })
	opts := []contextgraph.Option{contextgraph.WithLogger(slog.New(slog.NewTextHandler(logged{r}, nil))), contextgraph.WithClock(r.now)}
	for _, typ := range append(checked, r.flow.Checked...) {
		opts = append(opts, contextgraph.WithChecker(typ, checker{
			place: r.place, typ: typ, attributes: attributesOf(cfg.Extract, typ), now: r.now, note: r.note,
			gone: slices.ContainsFunc(r.flow.cfg.Checkers, func(c config.Checker) bool {
				return c.Type == typ && (c.SQL != nil || c.HTTP != nil && slices.Contains(c.HTTP.Gone, 404))
			}),
		}))
	}
	if r.flow.Identity {
		opts = append(opts, contextgraph.WithIdentity(personIn))
	}
	var err error
	var s store.Store
	if r.flow.Store != nil {
		if s, err = r.flow.Store(); err != nil {
			return err
		}
		ctx = store.With(ctx, s)
	} else if r.journal == "" {
		ctx = store.With(ctx, r.memory.Open())
	}
	if r.cg, err = contextgraph.Open(ctx, cfg, opts...); err != nil {
		if s != nil {
			err = errors.Join(err, s.Close(ctx)) // which nobody may have taken
		}
		return err
	}
	if err = r.makeTools(slices.Collect(maps.Keys(r.flow.Tools))...); err == nil {
		err = r.serve()
	}
	if err != nil {
		return errors.Join(err, r.cg.Close(ctx))
	}
	return nil
}

// serve makes the agents and the runner of the instance.
func (r *run) serve() error {
	r.agents = make(map[string]agent.Agent)
	for _, s := range r.flow.Agents { // agents that tools run
		if _, err := r.makeAgent(s); err != nil {
			return err
		}
	}
	root, err := r.makeAgent(r.flow.rootShape())
	if err != nil {
		return err
	}
	host, err := plugin.New(plugin.Config{
		Name: "host",
		OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			return r.becomes, nil
		},
		BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			return r.instead, nil
		},
	})
	if err != nil {
		return err
	}
	r.runner, err = runner.New(runner.Config{
		AppName: appName, Agent: root, SessionService: r.sessions, ArtifactService: r.artifacts,
		PluginConfig: r.cg.PluginConfig(host), AutoCreateSession: true,
	})
	return err
}

// rootShape returns the shape of the agent that the runner serves. An llm without tools has those
// that no other agent has.
func (f *Flow) rootShape() shape {
	root := f.Agent
	if root.Name == "" {
		root.Name = rootName
	}
	if (root.Kind == "" || root.Kind == "llm") && root.Tools == nil {
		taken := make(map[string]bool)
		for _, s := range append(slices.Clone(root.Of), f.Agents...) {
			s.addTools(taken)
		}
		for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
			if !taken[name] {
				root.Tools = append(root.Tools, name)
			}
		}
	}
	return root
}

func (s shape) addTools(to map[string]bool) {
	for _, name := range s.Tools {
		to[name] = true
	}
	for _, o := range s.Of {
		o.addTools(to)
	}
}

// attributesOf returns the attributes that rules read of a type.
func attributesOf(rules []config.Extract, typ string) map[string]config.Attribute {
	out := make(map[string]config.Attribute)
	for _, rule := range rules {
		if rule.Type == typ {
			maps.Copy(out, rule.Attributes)
		}
	}
	return out
}

type personKey struct{}

// personIn is who sends a message, as the host knows it.
func personIn(ctx context.Context) (string, error) {
	if name, ok := ctx.Value(personKey{}).(string); ok && name != "" {
		return name, nil
	}
	return "", errors.New("nobody is authenticated")
}

func (r *run) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.offset)
}

func (r *run) newID(kind string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[kind]++
	return fmt.Sprint(kind, "-", r.made[kind])
}

func (r *run) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, fmt.Sprintf(format, args...))
}

// logged takes the lines of the log.
type logged struct{ *run }

// Write implements [io.Writer].
func (l logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words.Log = append(l.words.Log, string(p))
	return len(p), nil
}

func (r *run) mistaken(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mistake = err
}

func (r *run) effect(name string, args map[string]any) {
	r.note("EFFECT  %s %s", name, jsonOf(args))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.effects++
}

// nextMove takes the next move of an agent.
func (r *run) nextMove(agent string) move {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.script[agent]
	if len(left) == 0 {
		return move{text: "Done."}
	}
	r.script[agent] = left[1:]
	return left[0]
}

// step does what a step says: first what happens out there, then the turn.
func (r *run) step(ctx context.Context, s step) error {
	id := s.Session
	if id == "" {
		id = sessionID
	}
	r.mu.Lock()
	r.offset += time.Duration(s.Wait)
	var redeclared []string
	for name, l := range s.Tools {
		changed := *l
		if l.Description != "" || l.Arguments != nil {
			redeclared = append(redeclared, name)
		}
		if was := r.looks[name]; was != nil {
			if changed.isDeclaration() {
				changed = *was
			}
			changed.Description = cmp.Or(l.Description, was.Description)
			if changed.Arguments = l.Arguments; l.Arguments == nil {
				changed.Arguments = was.Arguments
			}
			// How a tool is made stays, also after a restart.
			changed.Guard, changed.Replayable = was.Guard, was.Replayable
			changed.Text, changed.Streams, changed.LongRunning = was.Text, was.Streams, was.LongRunning
		}
		r.looks[name] = &changed
	}
	maps.Copy(r.script, s.Model)
	r.mu.Unlock()
	r.place.step(s)
	for name, text := range s.Artifact {
		if _, err := r.artifacts.Save(ctx, &artifact.SaveRequest{
			AppName: appName, UserID: r.flow.user(), SessionID: id, FileName: name, Part: genai.NewPartFromText(text),
		}); err != nil {
			return fmt.Errorf("artifacts.%s: %w", name, err)
		}
	}
	if s.Forget {
		if err := r.sessions.Delete(ctx, &session.DeleteRequest{AppName: appName, UserID: r.flow.user(), SessionID: id}); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	if s.Restart {
		if err := r.cg.Close(ctx); err != nil {
			return fmt.Errorf("restart: %w", err)
		}
		r.off = s.Off
		if err := r.open(ctx); err != nil {
			return fmt.Errorf("restart: %w", err)
		}
	}
	if redeclared != nil { // a tool of ADK keeps its declaration
		if err := r.makeTools(redeclared...); err != nil {
			return err
		}
		if err := r.serve(); err != nil {
			return fmt.Errorf("tools: %w", err)
		}
	}
	if err := r.forge(ctx, id, s.Events); err != nil {
		return err
	}
	return r.turn(ctx, id, s)
}

// isDeclaration reports whether a change of a tool is one of its declaration, and nothing else.
func (l look) isDeclaration() bool {
	return (l.Description != "" || l.Arguments != nil) && l.Result == nil && l.Error == "" && l.Cases == nil && l.Rewrite == nil && l.Shown == nil
}

// forge writes events into a session behind the runner.
func (r *run) forge(ctx context.Context, id string, events []event) error {
	if len(events) == 0 {
		return nil
	}
	resp, err := r.sessions.Get(ctx, &session.GetRequest{AppName: appName, UserID: r.flow.user(), SessionID: id})
	if err != nil {
		created, err := r.sessions.Create(ctx, &session.CreateRequest{AppName: appName, UserID: r.flow.user(), SessionID: id})
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		resp = &session.GetResponse{Session: created.Session}
	}
	for _, e := range events {
		turn := "forged"
		if e.Turn == "last" {
			turn = resp.Session.Events().At(resp.Session.Events().Len() - 1).InvocationID
		}
		ev := session.NewEvent(ctx, turn)
		ev.Author, ev.Content = e.Author, contentOf(e.Parts)
		for _, p := range e.Parts {
			if p.Call != nil && strings.HasPrefix(p.Call.Name, "adk_") { // a request of ADK waits
				ev.LongRunningToolIDs = append(ev.LongRunningToolIDs, p.Call.ID)
			}
		}
		if err := r.sessions.AppendEvent(ctx, resp.Session, ev); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	return nil
}

func contentOf(parts []part) *genai.Content {
	c := &genai.Content{Role: genai.RoleUser}
	for _, p := range parts {
		switch {
		case p.Call != nil:
			c.Parts = append(c.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}})
		case p.Response != nil:
			c.Parts = append(c.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: p.Response.ID, Name: p.Response.Name, Response: p.Response.Args}})
		default:
			c.Parts = append(c.Parts, genai.NewPartFromText(p.Text))
		}
	}
	return c
}

// turn sends the message of a step, if it has one.
func (r *run) turn(ctx context.Context, id string, s step) error {
	msg := r.message(s)
	if msg == nil {
		return nil
	}
	if !slices.Contains(r.ids, id) {
		r.ids = append(r.ids, id)
	}
	var opts []runner.RunOption
	if s.State.Kind != 0 {
		var delta map[string]any
		if err := s.State.Decode(&delta); err != nil {
			return fmt.Errorf("state: %w", err)
		}
		opts = append(opts, runner.WithStateDelta(delta))
	}
	r.note("CLIENT  %s", textOf(msg.Parts))
	if r.instead = nil; s.Instead != "" {
		r.instead = genai.NewContentFromText(s.Instead, genai.RoleModel)
	}
	if r.becomes = nil; s.Becomes != nil {
		r.becomes = contentOf(s.Becomes)
	}
	before := len(r.asked)
	here, leave := context.WithCancel(context.WithValue(ctx, personKey{}, s.As))
	defer leave()
	r.leave = leave
	for ev, err := range r.cg.Run(here, r.runner, r.flow.user(), id, msg, agent.RunConfig{}, opts...) {
		if err != nil {
			r.note("the run ended with %v", err)
			r.mu.Lock()
			r.words.Refusal = append(r.words.Refusal, err.Error())
			r.mu.Unlock()
			continue
		}
		r.see(id, ev)
	}
	if r.flow.Says.Report != nil || r.flow.Never.Report != nil {
		approvals, err := r.cg.Approvals(ctx, r.flow.key(id))
		if err != nil {
			return err
		}
		for _, a := range approvals {
			r.words.Report = append(r.words.Report, string(a.Report))
		}
	}
	if s.Asked != nil {
		got := []string{}
		for _, q := range r.asked[before:] {
			got = append(got, q.tool)
		}
		if !slices.Equal(got, *s.Asked) {
			r.note("ASKED   for %v, and the step expects %v", got, *s.Asked)
			r.misasked = append(r.misasked, fmt.Sprintf("asked for %v, want %v", got, *s.Asked))
		}
	}
	return nil
}

// message returns the message of a step; nil if it has none.
func (r *run) message(s step) *genai.Content {
	switch {
	case s.User != "":
		return genai.NewContentFromText(s.User, genai.RoleUser)
	case s.Send != nil:
		return contentOf(s.Send)
	}
	c := &genai.Content{Role: genai.RoleUser}
	for _, a := range s.Answer {
		q := &request{id: a.ID}
		if a.ID == "" {
			q = r.openRequest(a.To)
		}
		if q == nil {
			r.note("CLIENT  has nothing to answer")
			continue
		}
		c.Parts = append(c.Parts, &genai.Part{FunctionResponse: q.reply(a)})
	}
	if len(c.Parts) == 0 {
		return nil
	}
	return c
}

// key returns a session of the flow.
func (f *Flow) key(id string) record.Session {
	return record.Session{App: appName, User: f.user(), ID: id}
}

// user is whose sessions those of the flow are.
func (f *Flow) user() string { return cmp.Or(f.User, "ann") }
