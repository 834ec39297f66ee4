// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// lines is the thoughts of a session as text: its nodes, then its edges by their labels.
func lines(th inspect.Thoughts) (nodes, edges []string) {
	label := make(map[string]string)
	for _, n := range th.Nodes {
		label[n.ID] = n.Label
		nodes = append(nodes, fmt.Sprintf("%s %d: %s", n.Kind, n.Turn, n.Label))
	}
	for _, e := range th.Edges {
		edges = append(edges, fmt.Sprintf("%s -%s-> %s", label[e.From], e.Kind, label[e.To]))
	}
	slices.Sort(edges)
	return nodes, edges
}

func TestThoughts(t *testing.T) {
	branch := func(name string) func(*record.Event) { return adk(m{"branch": name}) }
	call := func(id, name, branch string) func(*record.Event) {
		return attributes(m{"adk": m{"branch": branch}, "function_calls": []m{{"id": id, "name": name}}})
	}
	tool := func(id, branch string) func(*record.Event) { return adk(m{"call_id": id, "branch": branch}) }
	says := func(text string) func(*record.Event) { return content(m{"response": "text: '" + text + "'"}) }
	user := content(m{"text_summary": "Why is it slow?"})

	tests := map[string]struct {
		rows         *script
		nodes, edges []string
	}{
		"an answer at once": {
			newScript(t).start("r").row(record.UserMessageReceived, "u", "", user).
				row(record.LLMRequest, "l", "u").row(record.LLMResponse, "l", "u", says("it's 'slow' | call: nobody")),
			[]string{"INCIDENT 1: Why is it slow?", "THOUGHT 1: it's 'slow' | call: nobody", "ACTION 1: it's 'slow' | call: nobody"},
			[]string{"Why is it slow? -next-> it's 'slow' | call: nobody", "it's 'slow' | call: nobody -next-> it's 'slow' | call: nobody"},
		},
		"parallel branches": {
			newScript(t).start("r").row(record.UserMessageReceived, "u", "", user).
				row(record.LLMRequest, "l1", "u", branch("p.a")).row(record.LLMRequest, "l2", "u", branch("p.b")).
				row(record.LLMResponse, "l1", "u", content(m{"response": "call: x"}), call("c1", "x", "p.a")).
				row(record.LLMResponse, "l2", "u", content(m{"response": "call: y"}), call("c2", "y", "p.b")).
				row(record.ToolStarting, "t1", "u", content(m{"tool": "x"}), tool("c1", "p.a")).row(record.ToolStarting, "t2", "u", content(m{"tool": "y"}), tool("c2", "p.b")).
				row(record.ToolCompleted, "t2", "u", content(m{"tool": "y", "result": "from y"}), tool("c2", "p.b")).
				row(record.ToolCompleted, "t1", "u", content(m{"tool": "x", "result": "from x"}), tool("c1", "p.a")).
				row(record.LLMRequest, "l3", "u", branch("p.a")).row(record.LLMResponse, "l3", "u", says("a done"), branch("p.a")).
				row(record.LLMRequest, "l4", "u", branch("p.b")).row(record.LLMResponse, "l4", "u", says("b done"), branch("p.b")).
				row(record.LLMRequest, "l5", "u").row(record.LLMResponse, "l5", "u", says("all done")).
				row(record.AgentResponse, "u", "", says("all done"), attributes(m{"response_text": "all is done"})),
			[]string{
				"INCIDENT 1: Why is it slow?", "THOUGHT 1: call x", "THOUGHT 1: call y", "TOOL_CALL 1: x", "TOOL_CALL 1: y", `OBSERVATION 1: "from y"`, `OBSERVATION 1: "from x"`,
				"THOUGHT 1: a done", "THOUGHT 1: b done", "THOUGHT 1: all done", "ACTION 1: all is done",
			},
			[]string{
				`"from x" -returns-> a done`, `"from y" -returns-> b done`, "Why is it slow? -next-> call x", "Why is it slow? -next-> call y",
				"a done -next-> all done", "all done -next-> all is done", "b done -next-> all done", "call x -calls-> x", "call x -next-> a done", "call y -calls-> y",
				"call y -next-> b done", `x -observes-> "from x"`, `y -observes-> "from y"`,
			},
		},
		"no model": {
			newScript(t).start("r").row(record.UserMessageReceived, "u", "", user).
				row(record.ToolStarting, "t1", "u", content(m{"tool": "x", "args": m{"n": 1}})).row(record.ToolError, "t1", "u", content(m{"tool": "x"}), failed("no way")).
				row(record.AgentResponse, "u", "", says("sorry")),
			[]string{"INCIDENT 1: Why is it slow?", "TOOL_CALL 1: x", "OBSERVATION 1: no way", "ACTION 1: sorry"},
			[]string{"Why is it slow? -calls-> x", "Why is it slow? -next-> sorry", "no way -returns-> sorry", "x -observes-> no way"},
		},
		"no message": {
			newScript(t).start("r").row(record.LLMRequest, "l", "").row(record.LLMError, "l", "", failed("quota")),
			[]string{"INCIDENT 1: No message of the user is on record", "THOUGHT 1: quota"},
			[]string{"No message of the user is on record -next-> quota"},
		},
		"calls without ids": {
			newScript(t).start("r").row(record.UserMessageReceived, "u", "", user).
				row(record.LLMRequest, "l1", "u").row(record.LLMResponse, "l1", "u", content(m{"response": "text: 'let me see' | call: x"})).
				row(record.ToolStarting, "t1", "u", content(m{"tool": "x"})).row(record.ToolCompleted, "t1", "u", content(m{"tool": "x", "result": 7})).
				row(record.LLMRequest, "l2", "u").row(record.LLMResponse, "l2", "u", says("seven")),
			[]string{"INCIDENT 1: Why is it slow?", "THOUGHT 1: let me see", "TOOL_CALL 1: x", "OBSERVATION 1: 7", "THOUGHT 1: seven", "ACTION 1: seven"},
			[]string{"7 -returns-> seven", "Why is it slow? -next-> let me see", "let me see -calls-> x", "let me see -next-> seven", "seven -next-> seven", "x -observes-> 7"},
		},
		"waits for a human": {
			newScript(t).asks(),
			[]string{"INCIDENT 1: Buy ads", `THOUGHT 1: call buy {"n":1}`, "TOOL_CALL 1: buy", `OBSERVATION 1: {"error":"requires confirmation"}`, "TOOL_CALL 1: ask a human: buy"},
			[]string{"Buy ads -next-> call buy {\"n\":1}", "buy -observes-> {\"error\":\"requires confirmation\"}", `call buy {"n":1} -calls-> buy`, `{"error":"requires confirmation"} -calls-> ask a human: buy`},
		},
		"two turns": {
			newScript(t).start("r").row(record.UserMessageReceived, "u", "", user).row(record.LLMRequest, "l1", "u").row(record.LLMResponse, "l1", "u", says("one")).
				start("s").row(record.UserMessageReceived, "v", "", content(m{"text_summary": "And now?"})).row(record.LLMRequest, "l2", "v").row(record.LLMResponse, "l2", "v", says("two")),
			[]string{"INCIDENT 1: Why is it slow?", "THOUGHT 1: one", "OBSERVATION 2: And now?", "THOUGHT 2: two", "ACTION 2: two"},
			[]string{"And now? -returns-> two", "Why is it slow? -next-> one", "one -next-> two", "one -observes-> And now?", "two -next-> two"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := tt.rows.see(at(60))
			sound(t, s)
			nodes, edges := lines(s.Thoughts)
			if d := cmp.Diff(tt.nodes, nodes); d != "" {
				t.Errorf("nodes (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.edges, edges); d != "" {
				t.Errorf("edges (-want +got):\n%s", d)
			}
		})
	}
}

// TestCriticalPath draws spans as bars of seconds.
func TestCriticalPath(t *testing.T) {
	tests := map[string]struct {
		bars []string // name, parent, start, end
		want string
	}{
		"alone":                           {[]string{"r - 0 9"}, "r"},
		"one after another":               {[]string{"r - 0 9", "a r 1 3", "b r 4 8"}, "r a b"},
		"side by side, the longer counts": {[]string{"r - 0 9", "a r 1 8", "b r 2 5"}, "r a"},
		"deep":                            {[]string{"r - 0 9", "a r 0 9", "b a 0 9"}, "b"},
		"two roots":                       {[]string{"r - 0 3", "s - 5 9", "a s 6 7"}, "r s a"},
		"outlives parent":                 {[]string{"r - 0 5", "a r 1 3", "b r 2 8"}, "r a"},
		"no time":                         {[]string{"r - 4 4", "a r 4 4"}, ""},
		"ends first of several":           {[]string{"r - 0 10", "a r 0 4", "b r 3 6", "c r 7 10"}, "r b c"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).start("r")
			for _, bar := range tt.bars {
				var name, parent string
				var start, end int64
				if _, err := fmt.Sscan(bar, &name, &parent, &start, &end); err != nil {
					t.Fatal(err)
				}
				for _, at := range []int64{start, end} {
					s.row(record.AgentStarting, name, strings.Trim(parent, "-"), func(e *record.Event) { e.Timestamp = epoch.UnixMicro() + at*1_000_000 })
				}
			}
			got := s.see(at(60))
			var path []string
			for _, key := range got.CriticalPath {
				i := slices.IndexFunc(got.Spans, func(sp inspect.Span) bool { return sp.Key == key })
				path = append(path, got.Spans[i].SpanID)
			}
			if strings.Join(path, " ") != tt.want {
				t.Errorf("path %v, want %s", path, tt.want)
			}
		})
	}
}
