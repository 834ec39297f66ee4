// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/server/adkrest"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/record"
)

// shop is an agent behind ADK's REST API, with its journal and its configuration in a folder.
type shop struct {
	t        *testing.T
	dir, url string
	recorder *recorder
}

func openShop(t *testing.T) *shop {
	t.Helper()
	w := &world{prices: make(map[string]string)}
	prices := httptest.NewServer(w)
	t.Cleanup(prices.Close)
	s := &shop{t: t, dir: t.TempDir(), recorder: &recorder{world: w}}
	text := strings.Replace(configuration, "%s", strings.TrimPrefix(prices.URL, "http://"), 1)
	if err := os.WriteFile(filepath.Join(s.dir, "contextgraph.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.recorder.open(t.Context(), text, filepath.Join(s.dir, "contextgraph.db"), time.Now()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.recorder.cg.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	api, err := adkrest.NewServer(adkrest.ServerConfig{
		SessionService: session.InMemoryService(), AgentLoader: agent.NewSingleLoader(s.recorder.root), PluginConfig: s.recorder.cg.PluginConfig(), SSEWriteTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *shop) post(path string, body any) {
	s.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.Post(s.url+path, "application/json", bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("POST %s: %s", path, answer.Status)
	}
}

// asks makes the agent ask to buy a product in a session, and returns the id of the approval.
func (s *shop) asks(id, product string) string {
	s.t.Helper()
	s.post("/apps/buyer/users/"+user+"/sessions/"+id, map[string]any{})
	s.post("/run", map[string]any{"appName": "buyer", "userId": user, "sessionId": id, "newMessage": map[string]any{"role": "user", "parts": []any{map[string]any{"text": "buy " + product}}}})
	if err := s.recorder.cg.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	list, err := s.recorder.cg.Approvals(s.t.Context(), record.Session{App: "buyer", User: user, ID: id})
	if err != nil || len(list) != 1 {
		s.t.Fatalf("%d approvals, %v", len(list), err)
	}
	return list[0].ID
}

func (s *shop) run(args ...string) (int, string) {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), filepath.Join(made.dir, "bin", "contextgraph"), args...)
	c.Dir, c.Env = s.dir, environment("CONTEXTGRAPH_AGENT="+s.url)
	out, err := c.CombinedOutput()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		s.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// TestDecide: the answer goes to the gate of a real agent, and the command says what the record says.
func TestDecide(t *testing.T) {
	s := openShop(t)
	for _, test := range []struct {
		name, product, price string // "$100" is unchanged, "" is no answer
		args                 []string
		code                 int
		want                 []string
		not                  string
	}{
		{"s-runs", "Lamp", "$100", []string{"approve", "--yes"}, 0, []string{"sent: ", "answered: alice said yes", "checked: Checked when", "checked: Checked right before", "executed: "}, "blocked"},
		{"s-moved", "Desk", "$130", []string{"approve", "--yes"}, 3, []string{"the world has changed (price of Product Desk: $100 → $130)", "blocked: "}, "executed"},
		{"s-away", "Sofa", "", []string{"approve", "--yes"}, 4, []string{"check failed: ", "The request stays open"}, "executed"},
		{"s-rejected", "Chair", "$100", []string{"reject"}, 0, []string{"answered: alice said no", "rejected: "}, "executed"},
		{"s-less", "Bed", "$100", []string{"reject", "--change", "a cheaper one"}, 0, []string{"a cheaper one", "rejected: "}, "executed"},
		{"s-asked", "Rug", "$100", []string{"approve"}, 2, []string{"nobody is at a terminal", "--yes"}, "sent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := s.asks(test.name, test.product)
			s.recorder.world.set(test.product, test.price)
			code, out := s.run(append([]string{test.args[0], id[:12]}, test.args[1:]...)...)
			if code != test.code || strings.Contains(out, test.not) {
				t.Errorf("it ends with %d, want %d\n%s", code, test.code, out)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if test.code == 4 || test.code == 2 {
				return // it is still open
			}
			if code, out := s.run("approve", id, "--yes"); (code != 5 && code != 3) || !strings.Contains(out, "cannot be answered any more") {
				t.Errorf("once more: %d\n%s", code, out)
			}
		})
	}
}
