// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"iter"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolutils"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
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
			h := newHarness(t, streamed(functiontool.Config{}))
			inner := h.tools[1]
			outer := &restreamed{inner, func(ctx agent.Context, args any, _ func(string, error) bool) {
				if ctx.ToolConfirmation() == nil {
					all(inner.(streamer).RunStream(ctx, args)) // which asks
					return
				}
				read(inner.(streamer), ctx, args)
			}}
			root, err := llmagent.New(llmagent.Config{Name: "root", Model: h.model, Tools: []tool.Tool{h.tools[0], outer}})
			if err != nil {
				t.Fatal(err)
			}
			h.serve(root)
			id, _ := h.ask(sess)
			h.wantBought(0)
			adktest.Run(t, h.runner, user, sess, adktest.Answer(id, true))
			if n := h.bought.Load(); n != 1 {
				t.Errorf("bought %d times", n)
			}
		})
	}
}
