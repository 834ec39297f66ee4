// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const conditionUnmet = safety.ReasonConditionUnmet

// fleet is a world of clusters with free processors.
type fleet struct {
	mu   sync.Mutex
	free map[string]any
}

func (f *fleet) set(name string, free any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free[name] = free
}

// search lists the clusters.
func (f *fleet) search(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(f.free)) {
		list = append(list, map[string]any{"name": name, "free": f.free[name]})
	}
	return map[string]any{"items": list}, nil
}

func (f *fleet) Check(_ context.Context, e entity.Canonical) (safety.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	free, err := entity.FromAny(f.free[e.Value], entity.KindNumber, "")
	return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"free": free}}, err
}

type deployArgs struct {
	CPUs float64 `json:"cpus,omitempty"`
	Jobs []struct {
		Cluster string  `json:"cluster"`
		CPUs    float64 `json:"cpus,omitempty"`
	} `json:"jobs"`
}

// open makes the fleet the world of a harness whose action deploys jobs.
func (f *fleet) open(o *cgtest.Options) {
	o.Search = f.search
	o.Config.Extract, o.Config.CheckFuncs = nil, map[string]safety.Checker{"Cluster": f}
	o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
		return functiontool.New(functiontool.Config{Name: "buy", Description: "deploys", RequireConfirmation: true},
			func(ctx agent.Context, _ deployArgs) (map[string]any, error) { return h.Buy(ctx, cgtest.BuyArgs{}) })
	}
}

// clusters are the rules of the fleet, with what a configuration says of free processors.
func clusters(drift string) string {
	return `
guard: {types: {Cluster: {drift: {free: ` + drift + `}}}}
extract:
  - {name: clusters, tool: search, each: "$.items[*]", type: Cluster, value: $.name, attributes: {free: {path: $.free, type: number}}}
  - {name: jobs, tool: buy, in: action, each: "$.jobs[*]", type: Cluster, value: $.cluster}
`
}

func deploys(args string) map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(args), &out); err != nil {
		panic(err)
	}
	return out
}

// TestConditionThroughTheRunner reads clusters, deploys, and lets the free processors change
// between the request and its answer.
func TestConditionThroughTheRunner(t *testing.T) {
	const changed = "changed"
	for _, test := range []struct {
		name   string
		drift  string
		others map[string]any // beside a, which has 64 free
		args   string
		then   map[string]any
		mode   string // default named
		reason string // "" runs
		tells  string // what the refusal says
	}{
		{name: "64 to 63, 8 needed by the node", drift: `{at_least: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":8}]}`, then: map[string]any{"a": 63}},
		{name: "64 to 8, 8 needed by the node", drift: `{at_least: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":8}]}`, then: map[string]any{"a": 8}},
		{name: "64 to 7, 8 needed by the node", drift: `{at_least: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":8}]}`, then: map[string]any{"a": 7},
			reason: changed, tells: `free of Cluster a is 7 now, and has to be at least 8: plan with one that meets that`},
		{name: "64 to 63, 8 needed by the configuration", drift: `{at_least: 8}`, args: `{"jobs":[{"cluster":"a"}]}`, then: map[string]any{"a": 63}},
		{name: "64 to 7, 8 needed by the configuration", drift: `{at_least: 8}`, args: `{"jobs":[{"cluster":"a"}]}`, then: map[string]any{"a": 7}, reason: changed, tells: `"condition":"at least 8"`},
		{name: "64 to 63 without a condition", drift: `{}`, args: `{"jobs":[{"cluster":"a","cpus":8}]}`, then: map[string]any{"a": 63}, reason: changed},
		{name: "each node has its own need", drift: `{at_least: $.cpus}`, others: map[string]any{"b": 16}, args: `{"jobs":[{"cluster":"a","cpus":32},{"cluster":"b","cpus":4}]}`,
			then: map[string]any{"a": 33, "b": 5}},
		{name: "each node has its own need, and one is not met", drift: `{at_least: $.cpus}`, others: map[string]any{"b": 16}, args: `{"jobs":[{"cluster":"a","cpus":32},{"cluster":"b","cpus":4}]}`,
			then: map[string]any{"a": 31, "b": 5}, reason: changed, tells: "at least 32"},
		{name: "named twice, and the needs may add up", drift: `{at_least: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":8},{"cluster":"a","cpus":16}]}`,
			reason: safety.ReasonPolicy, tells: "the action names it 2 times"},
		{name: "named twice, both bounds have to be met", drift: `{at_most: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":64},{"cluster":"a","cpus":65}]}`,
			then: map[string]any{"a": 65}, reason: changed, tells: "at most 64 and at most 65"},
		{name: "one node does not say", drift: `{at_most: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":64},{"cluster":"a"}]}`,
			reason: safety.ReasonPolicy, tells: "$.cpus from $['jobs'][1] in the arguments: it selects nothing, or null"},
		{name: "the path does not start at the root where the action names it", drift: `{at_least: $.cpus}`, args: `{"cpus":8,"jobs":[{"cluster":"a"}]}`, reason: safety.ReasonPolicy},
		{name: "the reading did not meet it", drift: `{at_least: $.cpus}`, others: map[string]any{"b": 4}, args: `{"jobs":[{"cluster":"b","cpus":8}]}`,
			then: map[string]any{"b": 64}, reason: conditionUnmet, tells: "free is 4 on record, and has to be at least 8: plan with one that meets that"},
		{name: "from the root for what the action does not name", drift: `{at_least: "$..cpus"}`, mode: "everything", others: map[string]any{"b": 16}, args: `{"jobs":[{"cluster":"a","cpus":8}]}`,
			then: map[string]any{"a": 60, "b": 9}},
		{name: "from the root for what the action does not name, not met", drift: `{at_least: "$..cpus"}`, mode: "everything", others: map[string]any{"b": 16}, args: `{"jobs":[{"cluster":"a","cpus":8}]}`,
			then: map[string]any{"b": 7}, reason: changed, tells: "free of Cluster b is 7 now"},
		{name: "from the root, where nothing stands", drift: `{at_least: $.cpus}`, mode: "everything", others: map[string]any{"b": 16}, args: `{"jobs":[{"cluster":"a","cpus":8}]}`,
			reason: safety.ReasonPolicy, tells: "$.cpus from $ in the arguments: it selects nothing"},
		{name: "the model asks for nothing, and a human approves that", drift: `{at_least: $.cpus}`, args: `{"jobs":[{"cluster":"a","cpus":0}]}`, then: map[string]any{"a": 0}},
		{name: "only a warning", drift: `{at_least: $.cpus, effect: warn}`, args: `{"jobs":[{"cluster":"a","cpus":8}]}`, then: map[string]any{"a": 7}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fleet{free: map[string]any{"a": 64}}
			for name, free := range test.others {
				f.set(name, free)
			}
			s := searchThenBuy()
			s["buy it"] = calls("buy", deploys(test.args))
			mode := test.mode
			if mode == "" {
				mode = "named"
			}
			h := cgtest.New(t, f.open, configured(t, clusters(test.drift)), s.model, required(t, mode))
			h.Say("find")
			got := settle(h, h.Say("buy it"), func() {
				for name, free := range test.then {
					f.set(name, free)
				}
			})
			wantOutcome(h, test.reason != "", got, test.reason)
			if text := encoded(got); !strings.Contains(strings.ReplaceAll(text, `\u0026`, "&"), test.tells) {
				t.Errorf("no %q in %s", test.tells, text)
			}
		})
	}
}

// TestConditionIsShown holds what a human sees before the answer: the need with the value
// that the model chose, and a warning where it cannot be met.
func TestConditionIsShown(t *testing.T) {
	for _, test := range []struct {
		name, args string
		want, warn string
	}{
		{name: "the value that the model chose", args: `{"jobs":[{"cluster":"a","cpus":0.5}]}`, want: "at least 0.5"},
		{name: "not met", args: `{"jobs":[{"cluster":"a","cpus":65}]}`, want: "at least 65", warn: "Cluster a: free is 64 on record, and has to be at least 65"},
		{name: "nothing selected", args: `{"jobs":[{"cluster":"a"}]}`, want: "at least $.cpus", warn: "it selects nothing, or null"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fleet{free: map[string]any{"a": 64}}
			s := searchThenBuy()
			s["buy it"] = calls("buy", deploys(test.args))
			h := cgtest.New(t, f.open, configured(t, clusters(`{at_least: $.cpus}`)), s.model, required(t, "named"))
			h.Say("find")
			asked := adktest.Confirmations(h.Say("buy it"))
			if len(asked) != 1 {
				t.Fatal("nobody was asked")
			}
			payload := encoded(asked[0].Args)
			if want := `"conditions":{"free":"` + test.want + `"}`; !strings.Contains(payload, want) {
				t.Errorf("no %s in %s", want, payload)
			}
			if !strings.Contains(payload, test.warn) || test.warn == "" && !strings.Contains(payload, `"warnings":[]`) {
				t.Errorf("the warning is not %q in %s", test.warn, payload)
			}
			// The ledger keeps what was shown.
			a := h.Approvals(cgtest.SessionID)[0]
			if got := a.Needs[a.Entities[0].Key]["free"].Condition; got != test.want {
				t.Errorf("the ledger has %q, want %q", got, test.want)
			}
		})
	}
}

// A session without a request has no arguments: a condition that needs them fails, and one
// that does not is checked.
func TestConditionWithoutARequest(t *testing.T) {
	for drift, want := range map[string]string{`{at_least: $.cpus}`: safety.ReasonPolicy, `{at_least: 8}`: ""} {
		f := &fleet{free: map[string]any{"a": 64}}
		h := cgtest.New(t, f.open, configured(t, clusters(drift)), searchThenBuy().model)
		h.Say("find")
		f.set("a", 63)
		r, err := h.CG.Check(t.Context(), record.Session{App: cgtest.App, User: cgtest.User, ID: cgtest.SessionID})
		if err != nil || r.IsSafeToApprove() != (want == "") {
			t.Fatalf("%s: %v\n%s", drift, err, r.Summary())
		}
		for _, f := range r.Failures() {
			if f.Reason != want || !strings.Contains(f.Detail, "there is no request") {
				t.Errorf("%s: %s", drift, f)
			}
		}
	}
}
