// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// consumer reads a run; it reports what it was told.
type consumer func(iter.Seq2[*session.Event, error]) (events int, errs []error)

func readAll(seq iter.Seq2[*session.Event, error]) (events int, errs []error) {
	for ev, err := range seq {
		if err != nil {
			errs = append(errs, err)
		} else if ev != nil {
			events++
		}
	}
	return events, errs
}

func stopAtError(seq iter.Seq2[*session.Event, error]) (events int, errs []error) {
	for _, err := range seq {
		if err != nil {
			return events, []error{err}
		}
		events++
	}
	return events, nil
}

func stopAtEvent(seq iter.Seq2[*session.Event, error]) (int, []error) {
	for range seq {
		return 1, nil
	}
	return 0, nil
}

func (b *bench) plain(ctx context.Context, c consumer) (int, []error) {
	return c(b.runner.Run(ctx, "u", "s", adktest.UserText("hi"), agent.RunConfig{}))
}

func (b *bench) wrapped(ctx context.Context, c consumer) (int, []error) {
	return c(b.rec.Run(ctx, b.runner, "u", "s", adktest.UserText("hi"), agent.RunConfig{}))
}

// ends lists the rows that end an agent or a run: type, agent, and the error or
// "unfinished".
func ends(t *testing.T, sink *rowtest.Sink) (out []string) {
	t.Helper()
	for _, e := range sink.Rows() {
		switch e.EventType {
		case record.AgentCompleted, record.AgentError, record.InvocationCompleted, record.InvocationError:
		default:
			continue
		}
		line := e.EventType + " " + e.Agent
		if rowtest.Attribute(t, e, "adk", "unfinished") == true {
			line += " unfinished"
		}
		if e.ErrorMessage != "" {
			line += ": " + e.ErrorMessage
		}
		failed := strings.HasSuffix(e.EventType, "_ERROR")
		if failed != (e.Status == record.StatusError) || failed != (e.Content != nil) {
			t.Errorf("%s: status %s, content %s", e.EventType, e.Status, e.Content)
		}
		if failed {
			var c map[string]string
			if err := json.Unmarshal(e.Content, &c); err != nil || len(c) != 1 || !strings.Contains(c["error_traceback"], e.ErrorMessage) {
				t.Errorf("%s: content = %s, want error_traceback with the error %q", e.EventType, e.Content, e.ErrorMessage)
			}
		}
		var latency map[string]any
		if err := json.Unmarshal(e.LatencyMS, &latency); err != nil || latency["total_ms"] == nil {
			t.Errorf("%s: latency_ms = %s, want total_ms", e.EventType, e.LatencyMS)
		}
		out = append(out, line)
	}
	return out
}

func TestHowRunsEnd(t *testing.T) {
	const abandoned = "the run was refused before it began: another plugin's BeforeRun callback stopped it"
	panics := func(c *llmagent.Config) {
		c.BeforeModelCallbacks = append(c.BeforeModelCallbacks, func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			panic("a bug")
		})
	}
	fails := func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
		yield(nil, errors.New("own agent failed"))
	}
	for _, tt := range []struct {
		name    string
		root    func() agent.Agent
		plugins []plugin.Config
		consume consumer
		// plain is what the rows say where only the callbacks tell, wrapped what they
		// say behind Run; the same where it is nil.
		plain, wrapped []string
	}{{
		name:    "model fails, consumer stops there",
		root:    func() agent.Agent { return modelAgent("root", broken()) },
		consume: stopAtError,
		plain:   []string{"AGENT_ERROR root: model offline", "INVOCATION_ERROR root: model offline"},
	}, {
		name: "model fails, a callback answers with nothing",
		root: func() agent.Agent {
			return modelAgent("root", broken(), func(c *llmagent.Config) {
				c.OnModelErrorCallbacks = append(c.OnModelErrorCallbacks, func(agent.Context, *model.LLMRequest, error) (*model.LLMResponse, error) {
					return &model.LLMResponse{}, nil
				})
			})
		},
		consume: readAll,
		plain:   []string{"AGENT_COMPLETED root", "INVOCATION_COMPLETED root"},
	}, {
		name: "an agent turns to another one when the first fails",
		root: func() agent.Agent {
			a, b := modelAgent("a", broken()), modelAgent("b", adktest.Says("hello"))
			return codeAgent("root", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
				for _, err := range a.Run(ctx) {
					if err != nil {
						break
					}
				}
				for ev, err := range b.Run(ctx) {
					if !yield(ev, err) {
						return
					}
				}
			}, a, b)
		},
		consume: readAll,
		plain:   []string{"AGENT_ERROR a: model offline", "AGENT_COMPLETED b", "AGENT_COMPLETED root", "INVOCATION_COMPLETED root"},
	}, {
		name: "first of two fails, consumer goes on",
		root: func() agent.Agent {
			return sequential("root", modelAgent("a", broken()), modelAgent("b", adktest.Says("hello")))
		},
		consume: readAll,
		plain:   []string{"AGENT_ERROR a: model offline", "AGENT_COMPLETED b", "AGENT_COMPLETED root", "INVOCATION_COMPLETED root"},
	}, {
		name: "last of two fails, consumer goes on",
		root: func() agent.Agent {
			return sequential("root", modelAgent("a", adktest.Says("hello")), modelAgent("b", broken()))
		},
		consume: readAll,
		plain: []string{
			"AGENT_COMPLETED a", "AGENT_ERROR b: model offline", "AGENT_ERROR root: model offline", "INVOCATION_ERROR root: model offline",
		},
	}, {
		name: "last of two fails, consumer stops there",
		root: func() agent.Agent {
			return sequential("root", modelAgent("a", adktest.Says("hello")), modelAgent("b", broken()))
		},
		consume: stopAtError,
		plain: []string{
			"AGENT_COMPLETED a", "AGENT_ERROR b: model offline", "AGENT_ERROR root: model offline", "INVOCATION_ERROR root: model offline",
		},
	}, {
		name: "an agent keeps the failure of another to itself",
		root: func() agent.Agent {
			sub := modelAgent("sub", broken())
			return codeAgent("root", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
				for _, err := range sub.Run(ctx) {
					if err != nil {
						break
					}
				}
				yield(textEvent(ctx, "never mind"), nil)
			}, sub)
		},
		consume: readAll,
		plain:   []string{"AGENT_ERROR sub: model offline", "AGENT_COMPLETED root", "INVOCATION_COMPLETED root"},
	}, {
		name: "an agent keeps a failure to itself and says nothing",
		root: func() agent.Agent {
			sub := modelAgent("sub", broken())
			return codeAgent("root", func(ctx agent.InvocationContext, _ func(*session.Event, error) bool) {
				for range sub.Run(ctx) {
				}
			}, sub)
		},
		consume: readAll,
		plain:   []string{"AGENT_ERROR sub: model offline", "AGENT_ERROR root: model offline", "INVOCATION_ERROR root: model offline"},
		wrapped: []string{"AGENT_ERROR sub: model offline", "AGENT_COMPLETED root", "INVOCATION_COMPLETED root"},
	}, {
		name:    "an agent of its own kind fails, consumer stops there",
		root:    func() agent.Agent { return codeAgent("root", fails) },
		consume: stopAtError,
		plain:   []string{"AGENT_COMPLETED root unfinished", "INVOCATION_COMPLETED root unfinished"},
		wrapped: []string{"AGENT_ERROR root: own agent failed", "INVOCATION_ERROR root: own agent failed"},
	}, {
		name: "an error, and then an answer",
		root: func() agent.Agent {
			return codeAgent("root", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
				_ = yield(nil, errors.New("hiccup")) && yield(textEvent(ctx, "done"), nil)
			})
		},
		consume: readAll,
		plain:   []string{"AGENT_COMPLETED root", "INVOCATION_COMPLETED root"},
	}, {
		name:    "a callback panics",
		root:    func() agent.Agent { return modelAgent("root", adktest.Says("hello"), panics) },
		consume: readAll,
		plain:   []string{"AGENT_COMPLETED root unfinished", "INVOCATION_COMPLETED root unfinished"},
		wrapped: []string{`AGENT_ERROR root: node "root" panicked: a bug`, `INVOCATION_ERROR root: node "root" panicked: a bug`},
	}, {
		name: "consumer stops",
		root: func() agent.Agent {
			return sequential("root", modelAgent("a", adktest.Says("hello")), modelAgent("b", adktest.Says("hello")))
		},
		consume: stopAtEvent,
		plain: []string{
			"AGENT_COMPLETED a unfinished", "AGENT_COMPLETED root unfinished", "INVOCATION_COMPLETED root unfinished",
		},
	}, {
		name: "another plugin refuses the run",
		root: func() agent.Agent { return modelAgent("root", adktest.Says("hello")) },
		plugins: []plugin.Config{{BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			return nil, errors.New("quota")
		}}},
		consume: readAll,
		plain:   []string{"INVOCATION_ERROR root: " + abandoned},
		wrapped: []string{"INVOCATION_ERROR root: quota"},
	}, {
		name: "another plugin answers in the place of the run",
		root: func() agent.Agent { return modelAgent("root", adktest.Says("hello")) },
		plugins: []plugin.Config{{BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			return genai.NewContentFromText("closed today", genai.RoleModel), nil
		}}},
		consume: readAll,
		plain:   []string{"INVOCATION_ERROR root: " + abandoned},
		wrapped: []string{"INVOCATION_COMPLETED root"},
	}, {
		name: "another plugin panics before the run begins",
		root: func() agent.Agent { return modelAgent("root", adktest.Says("hello")) },
		plugins: []plugin.Config{{BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			panic("a bug")
		}}},
		consume: func(seq iter.Seq2[*session.Event, error]) (events int, errs []error) {
			defer func() { errs = append(errs, fmt.Errorf("%v", recover())) }()
			return readAll(seq)
		},
		plain:   []string{"INVOCATION_ERROR root: " + abandoned},
		wrapped: []string{"INVOCATION_COMPLETED root unfinished"},
	}, {
		name: "another plugin refuses the message",
		root: func() agent.Agent { return modelAgent("root", adktest.Says("hello")) },
		plugins: []plugin.Config{{OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			return nil, errors.New("no")
		}}},
		consume: readAll,
		wrapped: []string{"INVOCATION_ERROR root: error running on run user message callback : no"},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			start := func() *bench {
				var others []*plugin.Plugin
				for _, cfg := range tt.plugins {
					others = append(others, refusing(t, cfg))
				}
				return newBench(t, tt.root(), others...)
			}
			b := start()
			events, errs := b.plain(t.Context(), tt.consume)
			if diff := cmp.Diff(tt.plain, ends(t, b.sink)); diff != "" {
				t.Errorf("without Run, ends mismatch (-want +got):\n%s", diff)
			}
			want := tt.wrapped
			if want == nil {
				want = tt.plain
			}
			b = start()
			gotEvents, gotErrs := b.wrapped(t.Context(), tt.consume)
			if diff := cmp.Diff(want, ends(t, b.sink)); diff != "" {
				t.Errorf("with Run, ends mismatch (-want +got):\n%s", diff)
			}
			if gotEvents != events || len(gotErrs) != len(errs) || len(errs) > 0 && gotErrs[0].Error() != errs[0].Error() {
				t.Errorf("Run told the consumer of %d events and %v, the runner of %d and %v", gotEvents, gotErrs, events, errs)
			}
		})
	}
}

// One branch fails; the other one is canceled for it, which is no failure of its own.
func TestFailureOfAParallelBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := codeAgent("waits", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			<-ctx.Done()
			yield(nil, ctx.Err())
		})
		root := must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{
			Name: "root", SubAgents: []agent.Agent{waits, modelAgent("fails", broken())},
		}}))
		b := newBench(t, root)
		b.wrapped(t.Context(), stopAtError)
		ends := ends(t, b.sink)
		const err = `failed to run sub-agent "fails": model offline`
		if n := len(ends); n != 4 || ends[3] != "INVOCATION_ERROR root: "+err || ends[2] != "AGENT_ERROR root: "+err {
			t.Fatalf("ends = %q", ends)
		}
		if !slices.Contains(ends, "AGENT_ERROR fails: model offline") || !slices.Contains(ends, "AGENT_ERROR waits: "+err) {
			t.Errorf("ends = %q", ends)
		}
	})
}

// waiting is a model that waits until its context ends.
type waiting struct{ adktest.Model }

func (*waiting) GenerateContent(ctx context.Context, _ *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		<-ctx.Done()
		yield(nil, errors.New("rpc error: code = Canceled"))
	}
}

// A model call that is canceled because the consumer stops is no failure of the run.
func TestConsumerStopsParallelBranches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wrapped := range []bool{false, true} {
			root := must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{
				Name: "root", SubAgents: []agent.Agent{modelAgent("waits", &waiting{}), modelAgent("answers", adktest.Says("hello"))},
			}}))
			b := newBench(t, root)
			if wrapped {
				b.wrapped(t.Context(), stopAtEvent)
			} else {
				b.plain(t.Context(), stopAtEvent)
			}
			ends := ends(t, b.sink)
			for _, line := range ends {
				if strings.Contains(line, "_ERROR") {
					t.Errorf("wrapped %v: %s, want no error", wrapped, line)
				}
			}
			if !slices.Contains(ends, "AGENT_COMPLETED waits unfinished") || ends[len(ends)-1] != "INVOCATION_COMPLETED root unfinished" {
				t.Errorf("wrapped %v: ends = %q", wrapped, ends)
			}
			if n := len(b.sink.Of(record.LLMError)); n != 1 {
				t.Errorf("%d LLM_ERROR rows, want one", n)
			}
		}
	})
}

func TestRunWhoseContextEnds(t *testing.T) {
	hangUp := errors.New("the client hung up")
	for _, tt := range []struct {
		name string
		end  func(ctx context.Context) (context.Context, func())
		want string
	}{
		{"canceled", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(hangUp) }
		}, hangUp.Error()},
		{"deadline", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			return ctx, func() { <-ctx.Done(); cancel() }
		}, context.DeadlineExceeded.Error()},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, end := tt.end(t.Context())
					work := must(functiontool.New(functiontool.Config{Name: "work"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
						end()
						return nil, ctx.Err()
					}))
					b := newBench(t, modelAgent("root", &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
						return adktest.Call("work", nil), nil
					}}, func(c *llmagent.Config) { c.Tools = []tool.Tool{work} }))
					run, want := b.plain, tt.want
					if wrapped {
						run = b.wrapped
					}
					if _, errs := run(ctx, readAll); wrapped {
						want = errs[len(errs)-1].Error() // what the consumer was told
					}
					if diff := cmp.Diff([]string{"AGENT_ERROR root: " + want, "INVOCATION_ERROR root: " + want}, ends(t, b.sink)); diff != "" {
						t.Errorf("ends mismatch (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

func TestRunWhoseContextIsOver(t *testing.T) {
	for _, root := range []func() agent.Agent{
		func() agent.Agent { return modelAgent("root", &waiting{}) },
		func() agent.Agent { return sequential("root", modelAgent("a", &waiting{})) },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the client hung up"))
		b := newBench(t, root())
		b.plain(ctx, stopAtError)
		ends := ends(t, b.sink)
		if got, want := ends[len(ends)-1], "INVOCATION_ERROR root: the client hung up"; got != want {
			t.Errorf("the run ended with %s, want %s", got, want)
		}
	}
}

// Run may be ranged over again, as what the runner returns may.
func TestRunTwice(t *testing.T) {
	b := newBench(t, modelAgent("root", adktest.Says("hello")))
	seq := b.rec.Run(t.Context(), b.runner, "u", "s", adktest.UserText("hi"), agent.RunConfig{})
	readAll(seq)
	readAll(seq)
	if got := len(b.sink.Of(record.InvocationCompleted)); got != 2 {
		t.Errorf("%d runs are complete, want 2", got)
	}
}

// The rows that end what was open come before the end of the run, by their times too.
func TestEndsAreInOrder(t *testing.T) {
	var clock atomic.Int64
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink, Now: func() time.Time { return time.UnixMilli(clock.Add(1)) }}, llmagent.Config{Model: adktest.Says("hi")})
	for range r.Run(t.Context(), "u", "s", adktest.UserText("hi"), agent.RunConfig{}) {
		break
	}
	if !slices.IsSortedFunc(sink.Rows(), func(a, b record.Event) int { return int(a.Timestamp - b.Timestamp) }) {
		for _, e := range sink.Rows() {
			t.Errorf("%s at %d", e.EventType, e.Timestamp)
		}
	}
}
