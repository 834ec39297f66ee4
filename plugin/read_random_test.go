// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// Whatever two agents say, ask for and hand on: what a row lists stands in the prompt, and
// what stands in the prompt was read, unless the row counts it as unmatched. The prompts are those that the model was given.
func TestReadsOfRandomConversations(t *testing.T) {
	seeds, ran, calls, listed := 0, 0, 0, 0
	for seed := range testsize.Seeds(t, 25, 2000) {
		seeds++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			again := rng.IntN(4) == 0 // the model uses ids again
			none := rng.IntN(4) == 0
			n := 0
			mdl := &adktest.Model{}
			other := "sub"
			mdl.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
				n++
				if rng.IntN(6) == 0 {
					to := other
					if other == "sub" {
						other = "root"
					} else {
						other = "sub"
					}
					return adktest.Calls(call(fmt.Sprint("t", n), "transfer_to_agent", m{"agent_name": to})), nil
				}
				if rng.IntN(3) == 0 {
					return adktest.Text([]string{"fine", "well", fmt.Sprint("number ", n)}[rng.IntN(3)]), nil
				}
				var fcs []*genai.FunctionCall
				for i := range 1 + rng.IntN(3) {
					id := ""
					switch {
					case again:
						id = fmt.Sprint("c", i)
					case rng.IntN(2) == 0:
						id = fmt.Sprintf("c%d-%d", n, i)
					}
					fcs = append(fcs, call(id, []string{"search", "look"}[rng.IntN(2)], m{"q": rng.IntN(3)}))
				}
				return adktest.Calls(fcs...), nil
			}
			// Models that go on and on are stopped by the turn.
			limit := func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
				if n > 0 && n%9 == 8 {
					n++
					return adktest.Text("enough"), nil
				}
				return nil, nil
			}
			var list []any
			for range 40 {
				list = append(list, []any{40000, 52000.0, 61000.5, "none"}[rng.IntN(4)])
			}
			tools := []tool.Tool{prices(t, "search", list...), prices(t, "look", list[3:]...)}
			sub := llm(t, llmagent.Config{Name: "sub", Description: "sub", Model: mdl, Tools: tools, BeforeModelCallbacks: []llmagent.BeforeModelCallback{limit}})
			cfg := llmagent.Config{Name: "root", Model: mdl, Tools: tools, SubAgents: []agent.Agent{sub}, BeforeModelCallbacks: []llmagent.BeforeModelCallback{limit}}
			if none {
				cfg.IncludeContents = llmagent.IncludeContentsNone
			}
			sink, r := recorded(t, recorder.Config{}, llm(t, cfg))
			for i := range 4 {
				_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText(fmt.Sprint("turn ", i)))
			}
			rs := readingsOf(t, sink.Rows())
			asked := 0
			for i, id := range rs.order {
				if rowtest.Attribute(t, rs.rows[id], "adk", "short_circuited") == true {
					continue
				}
				prompt := promptResults(mdl.Requests()[asked])
				asked++
				results, _ := rowtest.Attribute(t, rs.rows[id], "adk", "read", "results").(map[string]any)
				listed += len(results)
				for call, digest := range results {
					var v struct{ Result any }
					_ = json.Unmarshal([]byte(rs.tools[call+" "+digest.(string)]), &v)
					if data, _ := json.Marshal(v.Result); !slices.Contains(prompt, string(data)) {
						t.Errorf("model call %d lists %s, which its prompt does not hold", i, data)
					}
				}
				read := rs.calls(t, i)
				for _, s := range prompt {
					if strings.Contains(s, "price") && !slices.Contains(read, s) && rs.unmatched(t, i) == 0 {
						t.Errorf("model call %d has not read %s of its prompt", i, s)
					}
				}
			}
			ran++
			calls += asked
		})
	}
	t.Logf("%d model calls in %d conversations, %d results read", calls, ran, listed)
	if ran == seeds && seeds > 1 && (calls < 5*seeds || listed < 5*seeds) { // not with -run
		t.Error("too little happens in the conversations")
	}
}
