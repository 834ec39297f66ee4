// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
)

// talk is a conversation of two agents that call tools, transfer to each other and talk, at random.
type talk struct {
	*rand.Rand
	// unique says that no two results, texts or arguments are equal; again that call ids are used
	// again.
	unique, again bool
	n             int
	other         string
}

func (c *talk) answer(*model.LLMRequest) (*model.LLMResponse, error) {
	c.n++
	if c.n%9 == 8 {
		return adktest.Text(fmt.Sprint("enough for now ", c.n)), nil
	}
	if c.IntN(6) == 0 {
		to := c.other
		c.other = map[string]string{"sub": "root", "root": "sub"}[to]
		return adktest.Call("transfer_to_agent", map[string]any{"agent_name": to}), nil
	}
	if c.IntN(3) == 0 {
		return adktest.Text(c.value("fine")), nil
	}
	var calls []*genai.FunctionCall
	for i := range 1 + c.IntN(3) {
		id := ""
		if c.again {
			id = fmt.Sprint("c", i)
		} else if c.IntN(2) == 0 {
			id = fmt.Sprintf("c%d-%d", c.n, i)
		}
		calls = append(calls, &genai.FunctionCall{ID: id, Name: "search", Args: map[string]any{"q": c.value("q"), "in": map[string]any{"deep": 1}}})
	}
	return adktest.Calls(calls...), nil
}

func (c *talk) value(s string) string {
	if c.unique {
		c.n++
		return fmt.Sprint(s, " number ", c.n, " of ", c.Uint64())
	}
	return fmt.Sprint(s, " ", c.IntN(2))
}

// run has some turns, and calls see with each request of a model as the recorder sees it then.
func (c *talk) run(t *testing.T, see func(r *Run, who reader, contents []*genai.Content)) {
	t.Helper()
	rec := newTestRecorder(t, &discard{})
	search, err := functiontool.New(functiontool.Config{Name: "search"}, func(agent.Context, map[string]any) (map[string]any, error) {
		return map[string]any{"price": c.value("price"), "list": []any{map[string]any{"deep": c.value("deep")}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mdl, tools := adktest.Forgetful{Script: &adktest.Model{Answer: c.answer}}, []tool.Tool{search}
	sub, err := llmagent.New(llmagent.Config{Name: "sub", Description: "sub", Model: mdl, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: mdl, Tools: tools, SubAgents: []agent.Agent{sub}})
	if err != nil {
		t.Fatal(err)
	}
	var contents []*genai.Content
	eye, err := plugin.New(plugin.Config{
		Name: "eye",
		BeforeModelCallback: func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			contents = req.Contents
			return nil, nil
		},
		AfterModelCallback: func(ctx agent.Context, _ *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			see(rec.runs.lookup(ctx), readerOf(ctx), contents)
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	around := Plugins(rec)
	around.Plugins = append([]*plugin.Plugin{eye}, around.Plugins...)
	r, err := runner.New(runner.Config{
		AppName: "a", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: around,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText(c.value("turn")))
	}
}

// places returns the places of parts, in order.
func places(parts []heldPart) (out [][2]int32) {
	for _, h := range parts {
		out = append(out, [2]int32{h.at, h.part})
	}
	slices.SortFunc(out, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	return out
}

// What follow finds by going along the events, match finds by value, except where it cannot tell two
// values apart.
func TestFollowFindsWhatMatchFinds(t *testing.T) {
	for _, unique := range []bool{true, false} {
		t.Run(fmt.Sprintf("unique=%v", unique), func(t *testing.T) {
			followed, all := 0, 0
			for seed := range uint64(40) {
				c := &talk{Rand: rand.New(rand.NewPCG(seed, 3)), unique: unique, again: !unique && seed%3 == 0, other: "sub"}
				c.run(t, func(r *Run, who reader, contents []*genai.Content) {
					r.past.mu.Lock()
					defer r.past.mu.Unlock()
					all++
					parts, ok := r.past.follow(contents, who)
					if !ok {
						return
					}
					followed++
					matched, unmatched := r.past.all().match(contents, who)
					got, want := places(parts), places(matched)
					if unique && (unmatched != 0 || !cmp.Equal(want, got)) {
						t.Errorf("seed %d: %d unmatched; -match +follow:\n%s", seed, unmatched, cmp.Diff(want, got))
					}
					for _, h := range want {
						if !slices.Contains(got, h) {
							t.Errorf("seed %d: match finds %v, and follow does not", seed, h)
						}
					}
				})
			}
			if t.Logf("%d of %d requests followed", followed, all); unique && followed < all || followed < all/2 {
				t.Error("too few")
			}
		})
	}
}

// A request from which something was left out, or in which something stands twice or in another form,
// is none that can be followed, as long as all of it is new.
func TestFollowRefusesWhatWasChanged(t *testing.T) {
	edits, refused := 0, 0
	for seed := range uint64(40) {
		c := &talk{Rand: rand.New(rand.NewPCG(seed, 4)), unique: seed%2 == 0, again: seed%6 == 1, other: "sub"}
		c.run(t, func(r *Run, who reader, contents []*genai.Content) {
			r.past.mu.Lock()
			defer r.past.mu.Unlock()
			if _, ok := r.past.follow(contents, who); !ok {
				return
			}
			for range 10 {
				edited := edit(c.Rand, contents)
				edits++
				if parts, ok := r.past.follow(edited, who); !ok || !r.past.verified(parts, edited, who) {
					refused++
				} else if diff := cmp.Diff(textsOf(contents), textsOf(edited)); diff != "" {
					t.Errorf("seed %d: follows a request that was changed (-made +changed):\n%s", seed, diff)
				}
			}
		})
	}
	if t.Logf("%d of %d changed requests refused", refused, edits); refused < edits/2 {
		t.Error("too few")
	}
}

// edit returns a copy of contents with a change that a callback could make.
func edit(r *rand.Rand, contents []*genai.Content) []*genai.Content {
	contents = slices.Clone(contents)
	i, j := r.IntN(len(contents)), r.IntN(len(contents))
	c := *contents[i]
	c.Parts = slices.Clone(c.Parts)
	k := r.IntN(len(c.Parts))
	p := *c.Parts[k]
	switch r.IntN(7) {
	case 0:
		return slices.Delete(contents, i, i+1)
	case 1:
		return slices.Insert(contents, j, contents[i])
	case 2:
		contents[i], contents[j] = contents[j], contents[i]
		return contents
	case 3:
		c.Parts = slices.Delete(c.Parts, k, k+1)
	case 4:
		c.Role = map[string]string{"user": "model", "model": "user"}[c.Role]
	case 5:
		c.Parts = append(c.Parts, contents[j].Parts...)
	case 6:
		switch {
		case p.FunctionCall != nil:
			fc := *p.FunctionCall
			fc.Args = map[string]any{"q": "another"}
			p.FunctionCall = &fc
		case p.FunctionResponse != nil:
			fr := *p.FunctionResponse
			fr.Response = map[string]any{"price": "another", "list": fr.Response["list"]}
			p.FunctionResponse = &fr
		default:
			p.Text += "."
		}
		c.Parts[k] = &p
	}
	contents[i] = &c
	return contents
}

// textsOf returns what the contents say, in any order.
func textsOf(contents []*genai.Content) (out []string) {
	for _, c := range contents {
		if data, _ := json.Marshal(c); len(c.Parts) > 0 {
			out = append(out, string(data))
		}
	}
	slices.Sort(out)
	return out
}
