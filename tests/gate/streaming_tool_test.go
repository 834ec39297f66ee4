// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// restreamed is a wrapper that streams what stands inside in a way of its own.
type restreamed struct {
	tool.Tool
	stream func(ctx agent.Context, args any, yield func(string, error) bool)
}

func (r *restreamed) Declaration() *genai.FunctionDeclaration {
	return r.Tool.(toolutils.Tool).Declaration()
}

func (r *restreamed) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, r)
}

func (r *restreamed) RunStream(ctx agent.Context, args any) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { r.stream(ctx, args, yield) }
}

// However a protected stream is read, its effect takes place once, and a stream that was
// left is no reason to begin again.
func TestStreamRunsOnceHoweverItIsRead(t *testing.T) {
	all := func(seq iter.Seq2[string, error]) {
		for range seq {
		}
	}
	first := func(seq iter.Seq2[string, error]) {
		for range seq {
			break
		}
	}
	for name, read := range map[string]func(s streamer, ctx agent.Context, args any){
		"read twice": func(s streamer, ctx agent.Context, args any) { seq := s.RunStream(ctx, args); all(seq); all(seq) },
		"called twice": func(s streamer, ctx agent.Context, args any) {
			all(s.RunStream(ctx, args))
			all(s.RunStream(ctx, args))
		},
		"left, then read": func(s streamer, ctx agent.Context, args any) {
			seq := s.RunStream(ctx, args)
			first(seq)
			all(seq)
		},
		"read inside of itself": func(s streamer, ctx agent.Context, args any) {
			seq := s.RunStream(ctx, args)
			for range seq {
				all(seq)
			}
		},
		"pulled and left": func(s streamer, ctx agent.Context, args any) {
			next, stop := iter.Pull2(s.RunStream(ctx, args))
			next()
			stop()
			all(s.RunStream(ctx, args))
		},
		"two at once": func(s streamer, ctx agent.Context, args any) {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { all(s.RunStream(ctx, args)) })
			}
			both.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := cgtest.New(t, cgtest.Streamed(functiontool.Config{}))
			inner := h.Tools[1]
			outer := &restreamed{inner, func(ctx agent.Context, args any, _ func(string, error) bool) {
				if ctx.ToolConfirmation() == nil {
					all(inner.(streamer).RunStream(ctx, args)) // which asks
					return
				}
				read(inner.(streamer), ctx, args)
			}}
			root := cgtest.NewAgent(t, llmagent.Config{Name: "root", Model: h.Model, Tools: []tool.Tool{h.Tools[0], outer}})
			h.Serve(root)
			id, _ := h.Ask(cgtest.SessionID)
			h.WantBought(0)
			adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
			if n := h.Bought.Load(); n != 1 {
				t.Errorf("bought %d times", n)
			}
		})
	}
}

// The permit of a streaming tool is used up before its first chunk, and the end of the
// stream is the end of the call.
func TestStreamingToolConsumesBeforeTheFirstChunk(t *testing.T) {
	for name, tt := range map[string]struct {
		stream func(h *cgtest.Harness, yield func(string, error) bool)
		want   safety.ApprovalState
		result map[string]any
	}{
		"failed": {func(_ *cgtest.Harness, yield func(string, error) bool) {
			_ = yield("a", nil) && yield("", errors.New("sold out"))
		}, safety.StateFailed, map[string]any{"error": "sold out"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []safety.ApprovalState
			h := cgtest.New(t, func(o *cgtest.Options) {
				o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
					return functiontool.NewStreaming(functiontool.Config{Name: "buy", Description: "buys"}, func(agent.Context, cgtest.BuyArgs) iter.Seq2[string, error] {
						return func(yield func(string, error) bool) {
							h.Bought.Add(1)
							seen = append(seen, h.Approvals(cgtest.SessionID)[0].State)
							tt.stream(h, yield)
						}
					})
				}
			})
			id, _ := h.Ask(cgtest.SessionID)
			events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
			h.WantBought(1)
			if diff := cmp.Diff([]safety.ApprovalState{safety.StateExecuting}, seen); diff != "" {
				t.Errorf("state of the approval while it streams (-want +got):\n%s", diff)
			}
			if got := h.Approvals(cgtest.SessionID)[0].State; got != tt.want {
				t.Errorf("approval state = %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff([]map[string]any{tt.result}, adktest.Responses(events, "buy")); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			cgtest.CheckTree(t, h.Rows(cgtest.SessionID))
		})
	}
}

// What a protected streaming tool gave is evidence like any other result.
func TestStreamedResultIsOnRecord(t *testing.T) {
	h := cgtest.New(t, cgtest.Streamed(functiontool.Config{}))
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	var results []string
	for _, e := range h.Rows(cgtest.SessionID) {
		if e.EventType == "TOOL_COMPLETED" && rowtest.Field(t, e.Content, "tool") == "buy" {
			text, _ := json.Marshal(rowtest.Field(t, e.Content, "result"))
			results = append(results, string(text))
		}
	}
	if len(results) != 2 || !strings.Contains(results[0], "requires confirmation") || results[1] != `{"result":"{\"status\":\"bought\"}"}` {
		t.Errorf("results on record: %q", results)
	}
}
