// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// A ramble is a random interleaving of runs in one session. Each agent of each run stops
// at every model call and inside of every tool, and goes on when the ramble says so: one
// at a time, so that a seed gives the same order again.
type ramble struct {
	t        testing.TB
	rng      *rand.Rand
	servers  []*cgtest.Harness // of one journal and one session service: two processes
	session  string
	numbered bool // results differ even where the values are the same
	notes    chan note
	steps    []string // for people

	mu     sync.Mutex
	world  map[string]string
	serial int
	bought int

	runs     []*ramblingRun
	points   []*point
	asks     []*ask
	waiting  int // asks that got a place
	readings []reading
	refusals map[string]int  // the serial by approval
	known    map[string]bool // agent and thing: what a prompt of the agent has shown
}

var (
	things = []string{"Alpha", "Beta", "Gamma"}
	prices = []string{"$1,000", "$2,000", "$3,000"}
)

// reading is a value that the session showed.
type reading struct {
	thing, price string
	serial       int
}

// ramblingRun is one run; the answer of a human is a run that never stops.
type ramblingRun struct {
	r        *ramble
	number   int
	server   int
	auto     bool
	calls    map[string]int // of models, by agent
	batch    map[string]int // tools that have not ended, by agent
	children int            // agents side by side that have not ended
	need     int            // notes until all that goes on has stopped
	ended    bool
	events   []*session.Event
}

type rambleKey struct{}

// point is where something stopped.
type point struct {
	run   *ramblingRun
	agent string
	tool  string // "" is a model call
	args  string
	req   *model.LLMRequest
	goOn  chan *model.LLMResponse
}

// note says that something stopped or ended.
type note struct {
	run    *ramblingRun
	agent  string
	kind   string // point, tool, agent, run
	point  *point
	result map[string]any
	events []*session.Event
	callID string // of a purchase that has ended
	asked  bool   // it waits for its human
}

// ask is a purchase that a model asked for.
type ask struct {
	run            *ramblingRun
	agent          string
	callID         string
	confirmationID string
	thing          string
	shown          map[string]reading // the latest of each thing in the prompt
	unsure         map[string]bool    // if the prompt does not tell which reading is the latest
	place          int                // among all that wait for their humans; 0 is not yet
	before         int                // readings when it was asked
	alone          bool               // no other process was at work then
}

func (r *ramble) stop(ctx context.Context, p *point) *model.LLMResponse {
	p.goOn = make(chan *model.LLMResponse)
	r.notes <- note{run: p.run, agent: p.agent, kind: "point", point: p}
	select {
	case answer := <-p.goOn:
		return answer
	case <-ctx.Done():
		return nil
	}
}

// ramblingModel answers as the ramble of its run says.
type ramblingModel struct{ agent string }

func (m ramblingModel) Name() string { return "rambling" }

func (m ramblingModel) GenerateContent(ctx context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		run := ctx.Value(rambleKey{}).(*ramblingRun)
		if run.auto {
			yield(adktest.Text("Done."), nil)
			return
		}
		if answer := run.r.stop(ctx, &point{run: run, agent: m.agent, req: req}); answer != nil {
			yield(answer, nil)
			return
		}
		yield(nil, ctx.Err())
	}
}

func rambleSearch(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
	run := ctx.Value(rambleKey{}).(*ramblingRun)
	r := run.r
	r.mu.Lock()
	r.serial++
	found := map[string]any{"name": a.Query, "price": r.world[a.Query], "available": true}
	if r.numbered {
		found["n"] = r.serial
	}
	r.mu.Unlock()
	r.stop(ctx, &point{run: run, agent: ctx.AgentName(), tool: "search", args: a.Query})
	return map[string]any{"items": []any{found}}, nil
}

func rambleBuy(ctx agent.Context, a cgtest.BuyArgs) (map[string]any, error) {
	run := ctx.Value(rambleKey{}).(*ramblingRun)
	switch c := ctx.ToolConfirmation(); {
	case c == nil:
		run.r.stop(ctx, &point{run: run, agent: ctx.AgentName(), tool: "buy", args: a.Item})
		return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Buy it?", nil)
	case !c.Confirmed:
		return nil, tool.ErrConfirmationRejected
	}
	run.r.mu.Lock()
	run.r.bought++
	run.r.mu.Unlock()
	return map[string]any{"status": "bought"}, nil
}

// rambler serves a root that can hand over to two agents side by side.
func rambler(t *testing.T, h *cgtest.Harness) {
	config := func(name string) llmagent.Config {
		return llmagent.Config{
			Name: name, Description: name, Model: ramblingModel{name},
			Tools: []tool.Tool{cgtest.NewTool(t, "search", rambleSearch), cgtest.NewTool(t, "buy", rambleBuy)},
			AfterAgentCallbacks: []agent.AfterAgentCallback{
				func(ctx agent.Context) (*genai.Content, error) {
					if run := ctx.Value(rambleKey{}).(*ramblingRun); !run.auto {
						run.r.notes <- note{run: run, agent: name, kind: "agent"}
					}
					return nil, nil
				},
			},
		}
	}
	both, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{
		Name: "both", SubAgents: []agent.Agent{cgtest.NewAgent(t, config("left")), cgtest.NewAgent(t, config("right"))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config("root")
	cfg.SubAgents = []agent.Agent{both}
	h.ServeWith(cgtest.NewAgent(t, cfg), func(c *runner.Config) {
		c.PluginConfig.Plugins[0] = notingTools(t, c.PluginConfig.Plugins[0])
	})
}

// notingTools notes the end of each tool when the plugin has recorded it. A callback of an agent would miss the end of
// a call that the plugin refuses: ADK does not ask the agent then. So the second of two agents asks in vain, if both
// ask for what a blocked request asked for.
func notingTools(t *testing.T, p *plugin.Plugin) *plugin.Plugin {
	return cgtest.NewPlugin(t, plugin.Config{
		Name: p.Name(), OnUserMessageCallback: p.OnUserMessageCallback(), OnEventCallback: p.OnEventCallback(),
		BeforeRunCallback: p.BeforeRunCallback(), AfterRunCallback: p.AfterRunCallback(),
		BeforeAgentCallback: p.BeforeAgentCallback(), AfterAgentCallback: p.AfterAgentCallback(),
		BeforeModelCallback: p.BeforeModelCallback(), AfterModelCallback: p.AfterModelCallback(), OnModelErrorCallback: p.OnModelErrorCallback(),
		BeforeToolCallback: p.BeforeToolCallback(), OnToolErrorCallback: p.OnToolErrorCallback(), CloseFunc: p.Close,
		AfterToolCallback: func(ctx agent.Context, called tool.Tool, args, result map[string]any, err error) (map[string]any, error) {
			changed, err := p.AfterToolCallback()(ctx, called, args, result, err)
			if changed != nil {
				result = changed
			}
			if run := ctx.Value(rambleKey{}).(*ramblingRun); !run.auto {
				n := note{run: run, agent: ctx.AgentName(), kind: "tool", result: result}
				if called.Name() == "buy" {
					n.callID = ctx.FunctionCallID()
					_, n.asked = ctx.Actions().RequestedToolConfirmations[n.callID]
				}
				run.r.notes <- n
			}
			return changed, err
		},
	})
}

func (r *ramble) say(format string, args ...any) {
	r.steps = append(r.steps, fmt.Sprintf(format, args...))
}

func (r *ramble) start() {
	server := 0
	if len(r.servers) > 1 && r.rng.IntN(6) == 0 {
		server = 1
	}
	run := &ramblingRun{r: r, number: len(r.runs) + 1, server: server, calls: map[string]int{}, batch: map[string]int{}, need: 1}
	r.runs = append(r.runs, run)
	r.say("run %d starts in process %d", run.number, server)
	go func() {
		ctx := context.WithValue(r.t.Context(), rambleKey{}, run)
		events, err := adktest.TryRun(ctx, r.servers[server].Runner, cgtest.User, r.session, adktest.UserText(fmt.Sprint("message ", run.number)))
		_ = err // what ADK makes of a history that overlaps is its own
		r.notes <- note{run: run, kind: "run", events: events}
	}()
	r.wait(run)
}

// wait returns when everything of the run has stopped.
func (r *ramble) wait(run *ramblingRun) {
	for run.need > 0 && !run.ended {
		select {
		case n := <-r.notes:
			r.noted(n)
		case <-time.After(30 * time.Second):
			r.t.Fatalf("run %d does not go on, %d notes are missing: %s", run.number, run.need, r)
		}
	}
	r.flush(run.server)
}

// flush has the other process see what this one recorded.
func (r *ramble) flush(server int) {
	if err := r.servers[server].CG.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *ramble) noted(n note) {
	run := n.run
	run.need--
	switch n.kind {
	case "point":
		r.points = append(r.points, n.point)
		// What stops at the same time has no order of its own.
		slices.SortStableFunc(r.points, func(a, b *point) int {
			return strings.Compare(a.place(), b.place())
		})
	case "tool":
		for _, found := range resultReadings(n.result) {
			r.serialOf(&found)
			r.readings = append(r.readings, found)
		}
		r.refuse(n.result)
		if run.batch[n.agent]--; run.batch[n.agent] == 0 {
			run.need++ // its next model call, or its end
		}
		for _, a := range r.asks {
			if n.callID == "" || a.run != run || a.agent != n.agent || a.callID != "" {
				continue
			}
			a.callID = n.callID
			if n.asked {
				r.waiting++
				a.place, a.before, a.alone = r.waiting, len(r.readings), !r.busy(1-run.server)
			}
		}
	case "agent":
		if n.agent == "root" || run.children == 1 {
			run.need++ // the end of the agent around it, or of the run
		}
		if n.agent != "root" {
			run.children--
		}
	case "run":
		run.ended, run.events = true, n.events
		r.points = slices.DeleteFunc(r.points, func(p *point) bool { return p.run == run })
		for _, c := range adktest.Confirmations(n.events) {
			original, _ := c.Args["originalFunctionCall"].(map[string]any)
			if original == nil {
				_ = json.Unmarshal([]byte(encoded(c.Args["originalFunctionCall"])), &original)
			}
			for _, a := range r.asks {
				if a.callID != "" && a.callID == original["id"] {
					a.confirmationID = c.ID
				}
			}
		}
	}
}

// refuse notes what a refusal told.
func (r *ramble) refuse(result map[string]any) {
	told := refusedReadings(result)
	if len(told) == 0 {
		return
	}
	r.mu.Lock()
	r.serial++
	serial := r.serial
	r.refusals[refusalKey(result)] = serial
	r.mu.Unlock()
	for _, found := range told {
		found.serial = serial
		r.readings = append(r.readings, found)
	}
}

func (p *point) place() string {
	return fmt.Sprintf("%03d %s %s %s", p.run.number, p.agent, p.tool, p.args)
}

// serialOf gives a reading without a number the one of its place in the record.
func (r *ramble) serialOf(found *reading) {
	if found.serial == 0 {
		found.serial = len(r.readings) + 1
	}
}

// busy reports whether a run of that process has not ended.
func (r *ramble) busy(server int) bool {
	return slices.ContainsFunc(r.runs, func(run *ramblingRun) bool { return run.server == server && !run.ended })
}

// goOn lets a point go on: a tool as it is, a model with an answer at random.
func (r *ramble) goOn(p *point, last bool) {
	r.points = slices.DeleteFunc(r.points, func(other *point) bool { return other == p })
	var answer *model.LLMResponse
	run := p.run
	if p.tool == "" {
		answer = r.decide(p, last)
	} else {
		r.say("run %d, %s: %s of %s ends", run.number, p.agent, p.tool, p.args)
		run.need++ // the end of the tool
	}
	p.goOn <- answer
	r.wait(run)
}

// decide chooses the answer of a model, and expects what comes of it.
func (r *ramble) decide(p *point, last bool) *model.LLMResponse {
	run := p.run
	run.calls[p.agent]++
	latest, _ := r.shown(p.req)
	for thing := range latest {
		r.known[p.agent+" "+thing] = true
	}
	pick := r.rng.IntN(10)
	var calls []*genai.FunctionCall
	search := func() {
		calls = append(calls, &genai.FunctionCall{Name: "search", Args: map[string]any{"query": r.thing()}})
	}
	buy := func() {
		a := &ask{run: run, agent: p.agent, thing: r.thing()}
		a.shown, a.unsure = r.shown(p.req)
		r.asks = append(r.asks, a)
		calls = append(calls, &genai.FunctionCall{Name: "buy", Args: map[string]any{"item": a.thing, "count": 1}})
	}
	switch {
	case last || run.calls[p.agent] > 4:
	case pick < 4:
		for range 1 + r.rng.IntN(2) {
			search()
		}
	case pick < 5:
		search()
		buy()
	case pick < 7:
		buy()
	case pick < 8 && p.agent == "root":
		r.say("run %d hands over", run.number)
		run.children, run.batch[p.agent] = 2, 2 // the hand-over is a tool; no model call follows it
		run.need += 3
		return adktest.Call("transfer_to_agent", map[string]any{"agent_name": "both"})
	}
	if len(calls) == 0 {
		r.say("run %d, %s: a text", run.number, p.agent)
		run.need++ // the end of the agent
		return adktest.Text("So it is.")
	}
	r.say("run %d, %s: asks for %s", run.number, p.agent, encoded(calls))
	run.batch[p.agent] = len(calls)
	run.need += len(calls)
	return adktest.Calls(calls...)
}

func (r *ramble) thing() string { return things[r.rng.IntN(len(things))] }

func (r *ramble) String() string { return "\n\t" + strings.Join(r.steps, "\n\t") }
