// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package rewindtest compares random sessions that went back with sessions that never went further. Only tests import
// it.
package rewindtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Shapes are the forms of agents.
var Shapes = []string{"one", "delegate reads", "delegate asks", "sequential", "parallel"}

// turn is one message of the user: steps for the agents, or the answer to the last open request. The world is as it says
// from then on.
type turn struct {
	steps  []string
	answer int // 1 is yes, 2 is no
	prices map[string]string
}

// script is a session: some turns, and after each part but the last the number of its turns that are left again.
type script struct {
	shape string
	parts [][]turn
	back  []int
}

var things = []string{"Atlas", "Borealis", "Cygnus"}

func random(r *rand.Rand, shape string) script {
	s := script{shape: shape}
	some := func(least, most int) (list []turn) {
		for range least + r.IntN(most-least+1) {
			t := turn{prices: make(map[string]string)}
			for _, name := range things {
				t.prices[name] = fmt.Sprintf("$%d", 100+10*r.IntN(3))
			}
			thing := func() string { return things[r.IntN(len(things))] }
			switch r.IntN(5) {
			case 0:
				// ADK takes an answer in these two to the wrong agent.
				if shape != "sequential" && shape != "parallel" {
					t.answer = 1 + r.IntN(2)
				}
			case 1:
				t.steps = []string{"note:" + thing() + string(rune('a'+r.IntN(3)))}
			case 2:
				t.steps = []string{"search:" + thing(), "note:" + thing()}
			default:
				what := thing()
				t.steps = []string{"search:" + what, "buy:" + what}
				if r.IntN(3) == 0 {
					t.steps = t.steps[1:]
				}
			}
			list = append(list, t)
		}
		return list
	}
	for range 1 + r.IntN(2) {
		part := some(1, 5)
		s.parts = append(s.parts, part)
		back := 1 + r.IntN(len(part))
		s.back = append(s.back, back)
		for _, t := range part[len(part)-back:] {
			for i := range t.steps { // a request for the same call would replace one that stays
				t.steps[i] = strings.Replace(t.steps[i], "buy:", "buy two:", 1)
			}
		}
	}
	s.parts = append(s.parts, some(1, 4))
	return s
}

// straight returns the session that never went further.
func (s script) straight() script {
	var kept []turn
	for i, part := range s.parts {
		kept = append(kept, part...)
		if i < len(s.back) {
			kept = kept[:len(kept)-s.back[i]]
		}
	}
	last := len(s.parts[len(s.parts)-1])
	return script{shape: s.shape, parts: [][]turn{kept[:len(kept)-last], kept[len(kept)-last:]}, back: []int{0}}
}

// ending is what the last part of a session came to.
type ending struct {
	Prompts  map[string][]string // by agent
	State    map[string]any
	Evidence []any
	Said     []string
}

// player plays a script.
type player struct {
	*cgtest.Harness
	t       testing.TB
	cps     *checkpoint.Checkpoints
	prices  map[string]string
	rewinds int    // so far
	stays   string // a request that is not answered in the turns that are left

	mu      sync.Mutex
	prompts map[string][]string
}

// play plays a script over a session service.
func play(t testing.TB, s script, service session.Service) ending {
	t.Helper()
	p := &player{t: t, prices: make(map[string]string), prompts: make(map[string][]string)}
	p.Harness = cgtest.New(t, func(o *cgtest.Options) {
		o.Search = func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"items": []any{map[string]any{"name": a.Query, "price": p.prices[a.Query], "available": true}}}, nil
		}
	}, cgtest.NotChecked, cgtest.WithChecker(func(_ ctx, e entity.Canonical) (safety.State, error) {
		return safety.State{AsOf: p.Clock.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, p.prices[e.Value]), "availability": entity.Bool(true),
		}}, nil
	}))
	p.cps = checkpoint.New(p.CG, checkpoint.Reads("search", "note"))
	p.Sessions = p.cps.Sessions(service)
	p.ServeWith(p.agents(s.shape), func(c *runner.Config) {})
	for i, part := range s.parts {
		last := i == len(s.parts)-1
		if p.stays = ""; last {
			clear(p.prompts)
		}
		before := len(p.Approvals(cgtest.SessionID))
		var said []string
		for n, turn := range part {
			if !last && n == len(part)-s.back[i] {
				p.stays = p.open() // an answer to it would not be taken back
			}
			said = append(said, p.take(turn)...)
		}
		if !last {
			p.back(s.back[i])
			continue
		}
		out := ending{Prompts: p.prompts, State: make(map[string]any), Said: said}
		for key, value := range p.Session(cgtest.User, cgtest.SessionID).State().All() {
			out.State[key] = value
		}
		for _, a := range p.Approvals(cgtest.SessionID)[before:] {
			if s.shape == "parallel" {
				a.Receipt.RowsRead = p.rewinds // the other agent may have written more of them
			}
			out.Evidence = append(out.Evidence, evidence(a, p.rewinds))
		}
		return out
	}
	return ending{}
}

// take runs one turn. It returns what the agents said.
func (p *player) take(t turn) (said []string) {
	for name, price := range t.prices {
		p.prices[name] = price
	}
	msg := adktest.UserText("do: " + strings.Join(t.steps, "; "))
	if t.answer > 0 {
		msg = adktest.UserText("do: ")
		if id := p.open(); id != "" && id != p.stays {
			msg = adktest.Answer(id, t.answer == 1)
		}
	}
	events, err := adktest.TryRun(p.t.Context(), p.Runner, cgtest.User, cgtest.SessionID, msg)
	if err != nil {
		said = append(said, "error: "+plain(err.Error()))
	}
	for _, ev := range events {
		content, _ := json.Marshal(ev.Content)
		said = append(said, ev.Author+" "+plain(string(content)))
	}
	slices.Sort(said) // agents side by side
	return said
}

// open returns the confirmation of the last request that the session shows and nobody has answered.
func (p *player) open() (id string) {
	answered := make(map[string]bool)
	for ev := range p.Session(cgtest.User, cgtest.SessionID).Events().All() {
		if ev.Content == nil {
			continue
		}
		for _, part := range ev.Content.Parts {
			switch {
			case part.FunctionCall != nil && part.FunctionCall.Name == "adk_request_confirmation":
				id = part.FunctionCall.ID
			case part.FunctionResponse != nil:
				answered[part.FunctionResponse.ID] = true
			}
		}
	}
	if answered[id] {
		return ""
	}
	return id
}

// back takes the session back by a number of messages.
func (p *player) back(n int) {
	if n == 0 {
		return
	}
	key := cgtest.Key(cgtest.SessionID)
	list, err := p.cps.List(p.t.Context(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	would, err := p.cps.Rewind(p.t.Context(), key, list[n-1].ID, checkpoint.DryRun())
	if err != nil {
		p.t.Fatal(err)
	}
	var keep []string
	for _, e := range would.Effects {
		keep = append(keep, e.CallID)
	}
	if _, err := p.cps.Rewind(p.t.Context(), key, list[n-1].ID, checkpoint.Keep(keep...)); err != nil {
		p.t.Fatal(err)
	}
	p.rewinds++
}

// agents returns the root agent of a shape.
func (p *player) agents(shape string) agent.Agent {
	note := cgtest.NewTool(p.t, "note", func(ctx agent.Context, a struct {
		Text string `json:"text"`
	}) (map[string]any, error) {
		before, _ := ctx.State().Get("notes")
		list, _ := before.([]any)
		return map[string]any{"ok": true}, ctx.State().Set("notes", append(slices.Clone(list), a.Text))
	})
	search, buy := p.Tools[0], p.Tools[1]
	made := func(name, peer string, subs []agent.Agent, tools ...tool.Tool) agent.Agent {
		cfg := llmagent.Config{Name: name, Instruction: "Notes: {notes?}.", Tools: tools, SubAgents: subs, Model: p.model(name, peer, tools)}
		if shape == "parallel" && name == "buyer" {
			cfg.Instruction = "Buy." // the state may change while it runs
		}
		if name == "root" {
			cfg.Mode = llmagent.ModeChat
		}
		return cgtest.NewAgent(p.t, cfg)
	}
	var root agent.Agent
	var err error
	switch shape {
	case "one":
		root = made("root", "", nil, search, note, buy)
	case "delegate reads":
		root = made("root", "helper", []agent.Agent{made("helper", "root", nil, search, note)}, buy)
	case "delegate asks":
		root = made("root", "helper", []agent.Agent{made("helper", "root", nil, buy)}, search, note)
	case "sequential":
		root, err = sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "root", SubAgents: []agent.Agent{
			made("reader", "", nil, search, note), made("buyer", "", nil, buy),
		}}})
	case "parallel":
		root, err = parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "root", SubAgents: []agent.Agent{
			made("noter", "", nil, note), made("buyer", "", nil, search, buy),
		}}})
	default:
		p.t.Fatalf("no shape %q", shape)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return root
}

// model returns the model of an agent: it makes the next step of the last message, or lets its peer make it.
func (p *player) model(name, peer string, tools []tool.Tool) model.LLM {
	var own []string
	for _, t := range tools {
		own = append(own, t.Name())
	}
	return &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		contents, err := json.Marshal([]any{req.Contents, req.Config})
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.prompts[name] = append(p.prompts[name], plain(string(contents)))
		p.mu.Unlock()
		steps, done := underWay(req.Contents, own, peer)
		if done >= len(steps) {
			return adktest.Text(fmt.Sprintf("Done %d.", done)), nil
		}
		what, arg, _ := strings.Cut(steps[done], ":")
		count := 1
		if what == "buy two" {
			what, count = "buy", 2
		}
		if !slices.Contains(own, what) {
			return adktest.Call("transfer_to_agent", map[string]any{"agent_name": peer}), nil
		}
		switch what {
		case "search":
			return adktest.Call(what, map[string]any{"query": arg}), nil
		case "note":
			return adktest.Call(what, map[string]any{"text": arg}), nil
		}
		return adktest.Call(what, map[string]any{"item": arg, "count": count}), nil
	}}
}

// underWay returns the steps of the last message that are for an agent, or for its peer, and how many were made.
func underWay(contents []*genai.Content, own []string, peer string) (steps []string, done int) {
	for _, c := range contents {
		for _, part := range c.Parts {
			if list, is := strings.CutPrefix(part.Text, "do: "); is {
				steps, done = nil, 0
				for step := range strings.SplitSeq(list, "; ") {
					what, _, _ := strings.Cut(strings.Replace(step, " two", "", 1), ":")
					if step != "" && (peer != "" || slices.Contains(own, what)) {
						steps = append(steps, step)
					}
				}
			}
			for _, name := range []string{"search", "note", "buy"} {
				mine := peer != "" || slices.Contains(own, name)
				if fr := part.FunctionResponse; mine && (fr != nil && fr.Name == name || strings.Contains(part.Text, "`"+name+"` tool returned")) {
					done++
				}
			}
		}
	}
	return steps, done
}

// evidence returns what a request rests on, without what no two sessions have in common. Each rewind has a row.
func evidence(a safety.Approval, rewinds int) any {
	type thing struct {
		Key, Value string
		Attributes map[string]entity.Value
		Absent     []string
		Sources    []entity.Source
		Seen       []any
	}
	out := []any{a.Tool, a.Agent, string(a.Args), a.State, a.Verdict, a.Gaps, a.NotChosen.Total, a.Receipt.RowsRead - rewinds, a.Receipt.Failed, a.Chain}
	for _, e := range a.Entities {
		t := thing{Key: e.Key, Value: e.Value, Attributes: e.Attributes, Absent: e.Absent, Sources: e.Sources}
		for _, s := range e.Seen {
			t.Seen = append(t.Seen, []any{s.Value, s.Attributes, s.Echoes, s.Near, s.Source, s.Repeats, s.Read})
		}
		out = append(out, t)
	}
	return out
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|"age":"[^"]*"|"fingerprint":"[^"]*"|\(seen [^)]*\)|[0-9]{2}:[0-9]{2} UTC`)

// plain returns a text without ids and times. A purchase that was left stands, and a verdict may tell of it.
func plain(text string) string {
	return strings.ReplaceAll(ids.ReplaceAllString(text, "#"), " Your own buy of # acted on it.", "")
}
