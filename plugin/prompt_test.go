// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

type message struct{ Role, Content string }

// promptOf follows the references of a row of LLM_REQUEST and returns its messages.
func promptOf(t *testing.T, rows map[string]record.Event, e record.Event) []message {
	t.Helper()
	var content struct{ Prompt []message }
	if err := json.Unmarshal(e.Content, &content); err != nil {
		t.Fatal(err)
	}
	base, ok := rowtest.Attribute(t, e, "adk", "prompt_base").(map[string]any)
	if !ok {
		return content.Prompt
	}
	b, ok := rows[base["event_id"].(string)]
	if !ok {
		t.Fatalf("row %s refers to %v, which is not on record", e.EventID, base["event_id"])
	}
	return append(promptOf(t, rows, b)[:int(base["messages"].(float64)):int(base["messages"].(float64))], content.Prompt...)
}

func byID(events []record.Event) map[string]record.Event {
	m := make(map[string]record.Event)
	for _, e := range events {
		m[e.EventID] = e
	}
	return m
}

// sent is what the model really got.
func sent(req *model.LLMRequest) (out []message) {
	for _, c := range req.Contents {
		var texts []string
		for _, p := range c.Parts {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
		out = append(out, message{c.Role, strings.Join(texts, " | ")})
	}
	return out
}

// lossy is a sink that loses rows when it is told so.
type lossy struct {
	rowtest.Sink
	lost int
}

func (l *lossy) Lost(record.Session) int { return l.lost }

func TestPromptDeltaDoesNotReferToLostRows(t *testing.T) {
	sink := &lossy{}
	r := newRunner(t, recorder.Config{Sink: sink, Record: config.Record{PromptHistory: config.PromptDelta}}, llmagent.Config{Model: adktest.Says("ok")})
	adktest.Run(t, r, "u", "s", adktest.UserText("one"))
	sink.lost++
	adktest.Run(t, r, "u", "s", adktest.UserText("two"))
	adktest.Run(t, r, "u", "s", adktest.UserText("three"))
	var based []bool
	for _, e := range sink.Of(record.LLMRequest) {
		based = append(based, rowtest.Attribute(t, e, "adk", "prompt_base") != nil)
	}
	if diff := cmp.Diff([]bool{false, false, true}, based); diff != "" {
		t.Errorf("which requests refer to an earlier row (-want +got):\n%s", diff)
	}
}

func TestPromptDeltaStaysInItsSession(t *testing.T) {
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink, Record: config.Record{PromptHistory: config.PromptDelta}}, llmagent.Config{Model: adktest.Says("ok")})
	adktest.Run(t, r, "u", "s", adktest.UserText("one"))
	adktest.Run(t, r, "u", "s2", adktest.UserText("one"))
	if rows := sink.Of(record.LLMRequest); rowtest.Attribute(t, rows[1], "adk", "prompt_base") != nil {
		t.Error("a request of another session refers to this one's")
	}
}

// A history that was edited, as by a summary in the place of old turns, is written
// from the first message that differs.
func TestPromptDeltaAfterAnEdit(t *testing.T) {
	sink := &rowtest.Sink{}
	edited := false
	m := adktest.Says("ok")
	// A plugin in front of the observer edits what the model gets.
	editor, err := plugin.New(plugin.Config{Name: "editor", BeforeModelCallback: func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
		if edited {
			req.Contents[2] = genai.NewContentFromText("a summary", genai.RoleUser)
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRunnerWith(t, recorder.Config{Sink: sink, Record: config.Record{PromptHistory: config.PromptDelta}}, llmagent.Config{Model: m},
		func(cfg runner.PluginConfig) runner.PluginConfig {
			cfg.Plugins = append([]*plugin.Plugin{editor}, cfg.Plugins...)
			return cfg
		})
	for i := range 4 {
		edited = i >= 2
		adktest.Run(t, r, "u", "s", adktest.UserText(fmt.Sprintf("turn %d", i)))
	}
	rows := sink.Of(record.LLMRequest)
	for i, req := range m.Requests() {
		if diff := cmp.Diff(sent(req), promptOf(t, byID(rows), rows[i])); diff != "" {
			t.Errorf("request %d: the rows do not give the prompt back (-sent +rows):\n%s", i, diff)
		}
	}
	if got := rowtest.Attribute(t, rows[2], "adk", "prompt_base", "messages"); got != 2.0 {
		t.Errorf("the edited request keeps %v messages of the one before, want 2", got)
	}
}
