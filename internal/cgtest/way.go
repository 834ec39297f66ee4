// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// Way is one way to have a human asked.
type Way struct {
	Name   string
	Option Option
	// Innermost says that Protect stands around the tool, behind the callbacks of the
	// agent.
	Innermost bool
	own       bool // code of the gate stands before the call as in no other way with own
}

// Ways returns the ways in which a human is asked for an enforced call. Every attack must fail on
// each.
//
// The quick size, and every size with the race detector, has a way for each piece of code that
// stands before a call: a rule that covers a tool for which ADK asks, or which asks inside, the list
// of the configuration, and Protect of a tool, of a toolset and of a stream. The thorough size has
// [AllWays].
func Ways() []Way {
	if testsize.Thorough() && !testsize.Race {
		return AllWays()
	}
	return slices.DeleteFunc(AllWays(), func(w Way) bool { return !w.own })
}

// AllWays returns every way: those of [Ways], and those that come to the same code of the gate by
// another question or another line of the configuration.
func AllWays() []Way {
	return []Way{
		{"covered, confirmation always", Covered, false, true},
		{"covered, confirmation by its provider", With(Covered, MadeWith(functiontool.Config{
			RequireConfirmationProvider: func(a BuyArgs) bool { return a.Count > 0 },
		})), false, false},
		{"covered, confirmation inside of the tool", With(Covered, AskingInside), false, true},
		{"covered, toolset with confirmation", With(Covered, Unasked, InToolset(func(_ *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
			return tool.WithConfirmation(ts, true, nil)
		})), false, false},
		{"covered, toolset with confirmation by its provider", With(Covered, Unasked, InToolset(func(_ *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
			return tool.WithConfirmation(ts, false, func(name string, _ any) bool { return name == "buy" })
		})), false, false},
		{"listed by name", Listed, false, true},
		{"listed by a pattern", ListedByPattern("b?*"), false, false},
		{"listed, long-running", With(Listed, MadeWith(functiontool.Config{IsLongRunning: true})), false, false},
		{"listed, with a confirmation of its own", With(Listed, MadeWith(functiontool.Config{RequireConfirmation: true})), false, false},
		{"protected", func(*Options) {}, true, true},
		{"protected, without a confirmation of its own", Unasked, true, false},
		{"protected, confirmation inside of the tool", AskingInside, true, false},
		{"protected, long-running", MadeWith(functiontool.Config{IsLongRunning: true}), true, false},
		{"protected and listed", With(Listed, protect), true, false},
		{"protected, streaming", Streamed(functiontool.Config{}), false, true},
		{"protected, streaming with a confirmation of its own", Streamed(functiontool.Config{RequireConfirmation: true}), false, false},
		{"protected toolset", With(Unprotected, Unasked, InToolset((*contextgraph.Instance).ProtectToolset)), true, true},
		{"protected toolset with confirmation", With(Unprotected, Unasked, InToolset(func(cg *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
			return cg.ProtectToolset(tool.WithConfirmation(ts, true, nil))
		})), true, false},
	}
}

// OnEveryGuard runs an attack on a harness of each of [Ways], changed by opts.
func OnEveryGuard(t *testing.T, attack func(t *testing.T, h *Harness), opts ...Option) {
	OnEach(t, Ways(), func(t *testing.T, w Way) {
		attack(t, New(t, append([]Option{w.Option}, opts...)...))
	})
}

// OnEach runs a test with each of the ways.
func OnEach(t *testing.T, ways []Way, test func(t *testing.T, w Way)) {
	for _, w := range ways {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// With returns an option that applies others, one after the other.
func With(opts ...Option) Option {
	return func(o *Options) {
		for _, opt := range opts {
			opt(o)
		}
	}
}

// Unasked leaves the tool without a confirmation of its own.
func Unasked(o *Options) { o.Confirm = false }

func protect(o *Options) { o.Protect = true }

// Unprotected leaves the tool with its own confirmation: not listed, not protected, no
// rule for it.
func Unprotected(o *Options) { o.Protect = false }

// ListedByPattern has the config name the tool by a pattern.
func ListedByPattern(p string) Option {
	return With(Listed, func(o *Options) { o.Config.Guard.Tools = config.Tools(p) })
}

// MadeWith makes the tool with more than its name.
func MadeWith(cfg functiontool.Config) Option {
	cfg.Name, cfg.Description = "buy", "buys a product"
	return func(o *Options) {
		o.MakeBuy = func(h *Harness) (tool.Tool, error) { return functiontool.New(cfg, h.Buy) }
	}
}

// AskingInside makes a tool that asks where it runs, as the documentation of ADK shows it.
func AskingInside(o *Options) {
	o.MakeBuy = func(h *Harness) (tool.Tool, error) {
		return functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product"},
			func(ctx agent.Context, a BuyArgs) (map[string]any, error) {
				switch c := ctx.ToolConfirmation(); {
				case c == nil:
					return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Buy it?", map[string]any{"limit": 1})
				case !c.Confirmed:
					return nil, fmt.Errorf("%q %w", "buy", tool.ErrConfirmationRejected)
				}
				return h.Buy(ctx, a)
			})
	}
}

// Streamed makes a streaming tool. Its chunks together are a JSON object.
func Streamed(cfg functiontool.Config) Option {
	cfg.Name, cfg.Description = "buy", "buys a product"
	return func(o *Options) {
		o.MakeBuy = func(h *Harness) (tool.Tool, error) {
			return functiontool.NewStreaming(cfg, func(ctx agent.Context, a BuyArgs) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					result, err := h.Buy(ctx, a)
					text, _ := json.Marshal(result)
					if err != nil {
						yield("", err)
					} else if yield(string(text[:5]), nil) {
						yield(string(text[5:]), nil)
					}
				}
			})
		}
	}
}

// Shelf is a toolset of tools that the test may change.
type Shelf struct{ Content []tool.Tool }

// Name implements [tool.Toolset].
func (*Shelf) Name() string { return "shelf" }

// Tools implements [tool.Toolset].
func (s *Shelf) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return s.Content, nil }

// InToolset puts the tool into a toolset.
func InToolset(wrap func(*contextgraph.Instance, tool.Toolset) tool.Toolset) Option {
	return func(o *Options) {
		o.MakeToolset = func(cg *contextgraph.Instance, buy tool.Tool) tool.Toolset { return wrap(cg, &Shelf{[]tool.Tool{buy}}) }
	}
}
