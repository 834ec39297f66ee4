// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"google.golang.org/adk/v2/session"
)

// reply answers the pause that is open.
func (w *world) reply(value any) *genai.Content {
	w.t.Helper()
	id := ""
	for _, ev := range w.stored() {
		for _, asked := range ev.LongRunningToolIDs {
			if strings.HasPrefix(asked, "flow.pause/") {
				id = asked
			}
		}
	}
	if id == "" {
		w.t.Fatal("the run does not pause")
	}
	return answer(pair(id, value))
}

// A trip is a graph of three nodes. Each tells its input.
func trip(w *world, g *flow.Graph) {
	for _, name := range []string{"plan", "draft", "book"} {
		g.Node(name, told(w, name))
	}
	g.Edge(flow.Start, "plan")
	g.Edge("plan", "draft")
	g.Edge("draft", "book", flow.When("not formal", func(s flow.State) bool { return flow.Get[string](s, "tone") != "formal" }))
	g.Edge("draft", "formal")
	g.Node("formal", told(w, "formal"))
}

func TestPause(t *testing.T) {
	before, after := flow.Before("book"), flow.After("draft")
	const begun = `draft("plan!") plan("go")`
	for _, c := range []struct {
		name  string
		pause flow.Option
		say   any
		did   string // behind the answer
		draft string // its output in the state
		then  string // behind go_on to the next pause; "" if there is none
	}{
		{"go on before", before, "go_on", `book("draft!")`, "draft!", ""},
		{"skip before", before, "skip", ``, "draft!", ""},
		{"rerun before", before, "rerun", `draft("plan!")`, "draft!", `book("draft!")`},
		{"go back before", before, "go_back plan", begun, "draft!", `book("draft!")`},
		{"go back to itself", before, "go_back book", ``, "draft!", `book("draft!")`},
		{"with state before", before, map[string]any{"action": "rerun", "state": map[string]any{"tone": "formal"}}, `draft("plan!") formal("draft!")`, "draft!", ""},
		{"go on after", after, "go_on", `book("draft!")`, "draft!", ""},
		{"skip after", after, "skip", `book(null)`, "<nil>", ""},
		{"rerun after", after, "rerun", `draft("plan!")`, "<nil>", `book("draft!")`},
		{"go back after", after, map[string]any{"action": "go_back", "node": "plan"}, begun, "<nil>", `book("draft!")`},
		{"with state after", after, map[string]any{"action": "go_on", "state": map[string]any{"tone": "formal"}}, `formal("draft!")`, "draft!", ""},
	} {
		for where, service := range services() {
			t.Run(c.name+" "+where, func(t *testing.T) {
				w := graphWorld(t, service(), trip, c.pause)
				w.want(adktest.UserText("go"), begun, nil)
				if got := said(w.want(adktest.UserText("well?"), "", nil)); !strings.Contains(got, "The run pauses") {
					t.Errorf("the flow says %q", got)
				}
				first := w.reply(c.say)
				w.want(first, c.did, nil)
				if got := fmt.Sprint(w.state("draft")); got != c.draft {
					t.Errorf("the output of draft is %s, want %s", got, c.draft)
				}
				w.want(first, "", flow.ErrAnswered)
				if c.then != "" {
					w.want(w.reply("go_on"), c.then, nil)
				}
			})
		}
	}
}

// A word that is no answer leaves the question open, and cancel ends the run.
func TestPauseAnswers(t *testing.T) {
	w := graphWorld(t, session.InMemoryService(), trip, flow.Before("book"))
	w.want(adktest.UserText("go"), `draft("plan!") plan("go")`, nil)
	for _, wrong := range []any{"yes", "go_back nowhere", "go_back", 7, nil, map[string]any{"action": "go_on", "stat": nil}} {
		w.want(w.reply(wrong), "", flow.ErrAnswer)
	}
	w.want(w.reply("cancel"), "", nil)
	w.want(w.reply("go_on"), "", flow.ErrAnswered)

	w = graphWorld(t, session.InMemoryService(), trip, flow.Before("plan"))
	w.want(adktest.UserText("go"), "", nil)
	w.want(w.reply("rerun"), "", flow.ErrAnswer) // nothing has ended
	w.want(w.reply("go_on"), `book("draft!") draft("plan!") plan("go")`, nil)
}
