// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/mcptoolset"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/replay"
)

const (
	appName   = "recorded_app"
	userID    = "recorded_user"
	sessionID = "recorded_session"
)

// recordings are the files of ADK's module that are replayed.
var recordings = []string{
	"tool/mcptoolset/testdata/*Confirmation*.httprr",
	"internal/llminternal/testdata/TestParallelFunctionCalls*.httprr",
}

// scenario rebuilds the run that made one recording.
type scenario struct {
	model    string
	agent    func(*testing.T, model.LLM) agent.Agent
	messages []string
	config   agent.RunConfig
	// answer is the human's answer to a confirmation request; nil when nobody
	// answers.
	answer *bool
	// asks tells that the tool asks for a confirmation.
	asks bool
}

// scenarios holds the run of every recording, by file name.
func scenarios() map[string]scenario {
	onlyLisbon := func(_ string, args any) bool {
		m, ok := args.(map[string]any)
		return ok && m["city"] == "Lisbon"
	}
	inCity := func(city string, cfg mcptoolset.Config) scenario {
		return scenario{
			model:    "gemini-2.5-flash",
			agent:    func(t *testing.T, llm model.LLM) agent.Agent { return weatherAgent(t, llm, cfg) },
			messages: []string{"what is the weather in " + city + "?"},
		}
	}
	asking := func(cfg mcptoolset.Config, answer *bool) scenario {
		s := inCity("Lisbon", cfg)
		s.asks, s.answer = true, answer
		return s
	}
	adding := func(name string) scenario {
		return scenario{
			model: name,
			agent: calculatorAgent,
			messages: []string{
				"Can you add 2 and 3? Also 4 and 5? And 6 and 7?",
				"Great, now can you add 10 and 20? Also 40 and 50? And 60 and 70?",
			},
			config: agent.RunConfig{StreamingMode: agent.StreamingModeSSE},
		}
	}
	yes, no := true, false
	always := mcptoolset.Config{RequireConfirmation: true}
	forLisbon := mcptoolset.Config{RequireConfirmationProvider: onlyLisbon}
	forTool := mcptoolset.Config{RequireConfirmationProvider: func(name string, _ any) bool { return name == "get_weather" }}
	forOthers := mcptoolset.Config{RequireConfirmationProvider: func(name string, _ any) bool { return name != "get_weather" }}

	const (
		confirmation = "TestMCPToolSetConfirmation_"
		parallel     = "TestParallelFunctionCalls_test_parallel_function_calls_"
	)
	return map[string]scenario{
		confirmation + "No_Confirmation_Required":                            inCity("Lisbon", mcptoolset.Config{}),
		confirmation + "Confirmation_Required":                               asking(always, nil),
		confirmation + "Confirmation_Required_and_is_confirmed":              asking(always, &yes),
		confirmation + "Confirmation_Required_and_is_rejected":               asking(always, &no),
		confirmation + "Conditional_Confirmation_Not_Required":               inCity("Porto", forLisbon),
		confirmation + "Conditional_Confirmation_Not_Required_For_This_Tool": inCity("Lisbon", forOthers),
		confirmation + "Conditional_Confirmation_Required_For_This_Tool":     asking(forTool, nil),
		confirmation + "Conditional_Confirmation_Required":                   asking(forLisbon, nil),
		confirmation + "Conditional_Confirmation_Required_and_is_confirmed":  asking(forLisbon, &yes),
		confirmation + "Conditional_Confirmation_Required_and_is_rejected":   asking(forLisbon, &no),
		parallel + "gemini-2.5-flash":                                        adding("gemini-2.5-flash"),
		parallel + "gemini-3-flash-preview":                                  adding("gemini-3-flash-preview"),
		parallel + "gemini-3.1-pro-preview":                                  adding("gemini-3.1-pro-preview"),
	}
}

// TestRecordedTraffic replays real model traffic through a runner with the
// plugin on and checks the rows it leaves. A plugin that changed a model request
// would find no answer in the recording.
func TestRecordedTraffic(t *testing.T) {
	runs := scenarios()
	root := moduleDir(t, "google.golang.org/adk/v2")
	for _, pattern := range recordings {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Errorf("no recording matches %s", pattern)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".httprr")
			run, ok := runs[name]
			delete(runs, name)
			t.Run(name, func(t *testing.T) {
				if !ok {
					t.Fatalf("recording %s has no scenario", file)
				}
				transport, err := replay.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				replayAndCheck(t, run, transport)
			})
		}
	}
	for name := range runs {
		t.Errorf("no recording for scenario %s", name)
	}
}

// replayAndCheck plays one recording with the plugin on and checks the rows, read
// from the journal file after the instance was closed.
func replayAndCheck(t *testing.T, s scenario, transport *replay.Transport) {
	t.Helper()
	in, err := contextgraph.Open(t.Context(), contextgraph.Config{
		Journal: config.Journal{Path: filepath.Join(t.TempDir(), "contextgraph.db")},
	}, contextgraph.WithLogger(slog.New(slog.NewTextHandler(t.Output(), nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close(context.WithoutCancel(t.Context()))
	text := play(t, s, transport, in.PluginConfig())
	if err := transport.Err(); err != nil {
		t.Fatal(err)
	}
	graph, err := in.Graph(t.Context(), record.Session{App: appName, User: userID, ID: sessionID})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Close(t.Context()), in.Stats().Check()); err != nil {
		t.Fatal(err)
	}

	rows := readRows(t, in.JournalPath())
	checkColumns(t, rows)
	checkTree(t, rows, s.turns())
	checkModelRows(t, rows, transport.Played())
	checkToolRows(t, rows, s)
	checkConfirmation(t, rows, s)
	checkVerdict(t, rows, s)
	checkAnswer(t, rows, text)
	checkGraph(t, graph, rows, s)
}

// readRows opens a journal file and returns the rows of the recorded session.
func readRows(t *testing.T, path string) []row {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(context.WithoutCancel(t.Context()))
	session := record.Session{App: appName, User: userID, ID: sessionID}
	events, err := store.Events(t.Context(), j, session)
	if err != nil {
		t.Fatal(err)
	}
	losses, err := j.Losses(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if gaps := append(graphsync.RunGaps(graphsync.Fold(nil, events).Runs(), nil), store.LossSentences(losses)...); len(gaps) != 0 {
		t.Errorf("gaps in the record: %q", gaps)
	}
	return decodeRows(t, events)
}

// turns returns the number of runs of the runner.
func (s scenario) turns() int {
	if s.answer != nil {
		return len(s.messages) + 1
	}
	return len(s.messages)
}

// play runs a scenario to its end and returns the text of the last answer.
func play(t *testing.T, s scenario, transport http.RoundTripper, plugins runner.PluginConfig) string {
	t.Helper()
	ctx := t.Context()
	llm, err := gemini.NewModel(ctx, s.model, &genai.ClientConfig{
		HTTPClient: &http.Client{Transport: transport},
		APIKey:     "not-a-key",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName:           appName,
		Agent:             s.agent(t, llm),
		SessionService:    session.InMemoryService(),
		PluginConfig:      plugins,
		AutoCreateSession: true,
	})
	if err != nil {
		t.Fatal(err)
	}

	var text, confirmationID string
	send := func(message *genai.Content) {
		t.Helper()
		for event, err := range r.Run(ctx, userID, sessionID, message, s.config) {
			if err != nil {
				t.Fatal(err)
			}
			if event.Content == nil || event.Partial {
				continue
			}
			for _, part := range event.Content.Parts {
				if part.Text != "" {
					text = part.Text
				}
				if call := part.FunctionCall; call != nil && call.Name == toolconfirmation.FunctionCallName {
					confirmationID = call.ID
				}
			}
		}
	}
	for _, message := range s.messages {
		send(genai.NewContentFromText(message, genai.RoleUser))
	}
	if s.answer != nil {
		send(&genai.Content{Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
			ID:       confirmationID,
			Name:     toolconfirmation.FunctionCallName,
			Response: map[string]any{"confirmed": *s.answer},
		}}}})
	}
	return text
}

// moduleDir returns the directory of a module this test module depends on.
func moduleDir(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", path, err)
	}
	return string(bytes.TrimSpace(out))
}
