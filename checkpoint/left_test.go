// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// twoPrices is a shop in which two tools show a price, and checks call both again. The model does what it is told: a tool,
// and a token for it.
func twoPrices(t *testing.T, live, index *string, opts ...cgtest.Option) *shop {
	t.Helper()
	type args struct {
		Token string `json:"token,omitempty"`
	}
	return newShop(t, append(opts, cgtest.NotChecked, func(o *cgtest.Options) {
		rule := o.Config.Extract[0]
		rule.Each, rule.Value, rule.Attributes = "", "$.name", map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}}
		o.Config.Extract = nil
		delete(o.Config.CheckFuncs, "Product")
		o.Config.Checkers = []config.Checker{{Type: "Product", Replay: &config.Replay{}}}
		o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
			for name, price := range map[string]*string{"live": live, "index": index} {
				look, err := cg.Replayable(cgtest.NewTool(t, name, func(agent.Context, args) (map[string]any, error) {
					return map[string]any{"name": cgtest.Item, "price": *price}, nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				tools = append(tools, look)
			}
			return tools
		}
		for _, name := range []string{"live", "index"} {
			rule.Name, rule.Tool = name, name
			o.Config.Extract = append(o.Config.Extract, rule)
		}
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := req.Contents[len(req.Contents)-1].Parts[0]
			switch what, token, _ := strings.Cut(last.Text, " "); {
			case what == "buy":
				return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1}), nil
			case token != "":
				return adktest.Call(what, map[string]any{"token": token}), nil
			case what == "live" || what == "index":
				return adktest.Call(what, map[string]any{}), nil
			}
			return adktest.Text("Done."), nil
		}
	})...)
}

// A check calls again what else showed a thing. A call that was left is not called again, for nobody reads it any more;
// and it hides no earlier call of its tool that stays.
func TestChecksRepeatNothingThatWasLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		stays, leaves, again string // what the agent looks up, before and after it goes back
		live, index          string // what the tools show when the person answers
		want                 string
	}{
		"an old index that was left":                   {"", "index", "live", "$40,000", "$52,000", ""},
		"an old index that stays":                      {"index", "", "live", "$40,000", "$52,000", safety.CodeDrift},
		"a call that was left and cannot be repeated":  {"live", "live secret-of-the-shop", "index", "$52,000", "$40,000", safety.CodeDrift},
		"only calls that were left show another price": {"", "live", "index", "$52,000", "$40,000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			live, index := "$40,000", "$40,000"
			s := twoPrices(t, &live, &index)
			s.Say("hello")
			if tt.stays != "" {
				s.Say(tt.stays)
			}
			if tt.leaves != "" {
				s.Say(tt.leaves)
				s.rewind(s.list()[0].ID)
			}
			s.Say(tt.again)
			id := s.ask(cgtest.SessionID, "buy")
			live, index = tt.live, tt.index
			got := s.Answer(cgtest.SessionID, id, true)
			if reason, _ := got["reason"].(string); reason != tt.want || tt.want == "" && got["status"] != "bought" {
				t.Errorf("buy came to %v, want %q", got, tt.want)
			}
			if !slices.ContainsFunc(s.Approvals(cgtest.SessionID), func(a safety.Approval) bool { return len(a.Entities) > 0 }) {
				t.Error("the request rests on nothing")
			}
		})
	}
}

// The answer to a request that stays goes by the rewind, although the request does not. The rows of its run still wait
// to be stored.
func TestAnswerGoesByTheRewind(t *testing.T) {
	live, index := "$40,000", "$40,000"
	s := twoPrices(t, &live, &index, cgtest.OnFile)
	s.Say("index")
	id := s.ask(cgtest.SessionID, "buy")
	s.Say("live")
	s.rewind(s.list()[0].ID)
	live = "$52,000"
	if got := s.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("buy came to %v", got)
	}
}
