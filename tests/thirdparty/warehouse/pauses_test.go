// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The documented query over pauses gives each pause of a tool once, with the time that it
// took. It runs over the rows of the demo, which waits for people, and of an agent whose tools
// take their time.
func TestPausesByTheDocumentedQuery(t *testing.T) {
	const waited = 90 * time.Second
	rows := append(demoRows(t), pausedRows(t, waited)...)
	var tools, people int
	for _, e := range rows {
		if e.EventType == record.ToolPaused && bytes.Contains(e.Attributes, []byte(`"pause_kind":"tool"`)) {
			tools++
		} else if e.EventType == record.ToolPaused {
			people++
		}
	}
	if tools != 2 || people < 3 {
		t.Fatalf("%d pauses of tools and %d for people, want 2 and those of the demo", tools, people)
	}
	server, _, client := askServer(t)
	(&story{t: t}).loadEvents(client, server, rows)
	for _, file := range []string{"verify_adk_pauses", "verify_adk_pauses_views"} {
		var got []string
		for _, r := range read(t, client.Query(statement(t, server, file))) {
			// The call of a long-running tool ends within the second in which it pauses.
			seconds := max(r["paused_seconds"].(int64), 0)
			got = append(got, fmt.Sprint(r["tool_name"], " ", r["pause_kind"], " ", seconds))
		}
		slices.Sort(got)
		same(t, file, []string{"order tool 90", "ship tool 90"}, got)
	}
}

// Requests and answers of the plugin for Python name nothing that they share, so nobody pairs them.
func TestWaitingTimesOfPython(t *testing.T) {
	server, d, client := askServer(t)
	s := newStory(t, "python")
	s.run = "1"
	at := func(typ string, second int, content m) {
		e := s.add(typ, "root", "R", "", content, nil)
		e.Timestamp = baseTime + int64(second)*time.Second.Microseconds()
	}
	asks := func(tool string) m { return m{"tool": tool, "args": m{}} }
	answer := func(tool string) m { return m{"tool": tool, "result": m{}} }
	const confirm, input = "adk_request_confirmation", "adk_request_input"
	at(record.HITLConfirmationRequestCompleted, 1, answer(confirm))
	at(record.HITLConfirmationRequest, 2, asks(confirm))
	at(record.HITLInputRequest, 3, asks(input))
	at(record.HITLConfirmationRequest, 4, asks(confirm))
	at(record.HITLConfirmationRequestCompleted, 12, answer(confirm))
	at(record.HITLConfirmationRequestCompleted, 24, answer(confirm))
	at(record.HITLConfirmationRequestCompleted, 25, answer(confirm))
	at(record.HITLConfirmationRequest, 26, asks(confirm))
	s.loadEvents(client, server, s.rows)
	got, err := d.WaitingTimes(t.Context(), ask.Window{From: time.UnixMicro(baseTime), To: time.UnixMicro(baseTime).Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "waiting", []ask.Waiting{
		{Kind: "CONFIRMATION", Agent: "root", Tool: confirm, Unpaired: 7},
		{Kind: "INPUT", Agent: "root", Tool: input, Unpaired: 1},
	}, got.Groups)
}

// demoRows runs the demo and returns the rows of its journal.
func demoRows(t *testing.T) []record.Event {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "demo")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./examples/adcp", "--dir", folder)
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the demo: %v\n%s", err, out)
	}
	return journalRows(t, filepath.Join(folder, "contextgraph.db"))
}

func journalRows(t *testing.T, path string) (rows []record.Event) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	sessions, err := j.Sessions(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		more, err := store.Events(t.Context(), j, s.Session)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, more...)
	}
	return rows
}

// pausedRows are the rows of an agent that starts two tools which answer later, and of the
// message that brings what they gave after that time.
func pausedRows(t *testing.T, after time.Duration) []record.Event {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	cg, err := contextgraph.Open(t.Context(), contextgraph.Config{Journal: config.Journal{Path: path}}, contextgraph.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	var tools []tool.Tool
	for _, name := range []string{"order", "ship"} {
		slow, err := functiontool.New(functiontool.Config{Name: name, Description: name, IsLongRunning: true},
			func(agent.Context, struct{}) (map[string]any, error) { return m{"status": "pending"}, nil })
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, slow)
	}
	results := func(status string) *genai.Content {
		c := &genai.Content{Role: genai.RoleUser}
		for _, name := range []string{"order", "ship"} {
			c.Parts = append(c.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "call-" + name, Name: name, Response: m{"status": status}}})
		}
		return c
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Tools: tools, Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("Done."), nil
		}
		return adktest.Calls(&genai.FunctionCall{ID: "call-order", Name: "order"}, &genai.FunctionCall{ID: "call-ship", Name: "ship"}), nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "shop", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	adktest.Run(t, r, "alice", "s-slow", adktest.UserText("order and ship"))
	adktest.Run(t, r, "alice", "s-slow", results("done"))
	if err := cg.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	rows := journalRows(t, path)
	for i := range rows {
		if rows[i].RunID != rows[0].RunID {
			rows[i].Timestamp += after.Microseconds()
		}
	}
	return rows
}
