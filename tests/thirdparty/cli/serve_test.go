// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
)

// served is a server that is running.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	token  string // "" if the address has none
	stderr string // a file
}

// serve starts the server with a copy of the journal.
func serve(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	dir := t.TempDir()
	data, err := os.ReadFile(made.journal)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "contextgraph.db"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, stderr: filepath.Join(dir, "stderr")}
	stderr, err := os.Create(s.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(made.dir, "bin", "contextgraph"), append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	s.cmd.Dir, s.cmd.Stderr, s.cmd.Env = dir, stderr, environment(env...)
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = s.cmd.Wait()
		t.Fatalf("no address: %v\n%s", err, s.said())
	}
	s.url, s.token, _ = strings.Cut(strings.TrimSpace(line), "#token=")
	return s
}

// environment returns the environment for a command: that of the tests without the settings of the
// tests themselves, which the command would take for keys of its configuration.
func environment(more ...string) []string {
	own := func(v string) bool { return strings.HasPrefix(v, "CONTEXTGRAPH_") }
	return append(slices.DeleteFunc(os.Environ(), own), more...)
}

// said returns what the server wrote to stderr so far.
func (s *served) said() string {
	s.t.Helper()
	text, err := os.ReadFile(s.stderr)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// stop interrupts the server, which has to end well.
func (s *served) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, s.said())
	}
}

func (s *served) do(method, path string, header map[string]string, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestServe(t *testing.T) {
	s := serve(t, nil)
	code, page := s.do("GET", "", nil, "")
	if data := string(viewertest.Data(t, page)); code != http.StatusOK || !strings.Contains(data, `"live":true`) || strings.Contains(data, `"decisions":true`) {
		t.Errorf("the page: %d, %d bytes, %s", code, len(page), data)
	}
	code, text := s.do("GET", "api/sessions?status=in_doubt", nil, "")
	var list inspect.Page
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != http.StatusOK || len(list.Sessions) != 1 || list.Sessions[0].Session.ID != "s-doubt" {
		t.Errorf("the list: %d, %v: %s", code, err, text)
	}
	if code, _ := s.do("GET", "", map[string]string{"Host": "evil.example.com"}, ""); code != http.StatusMisdirectedRequest {
		t.Errorf("another name is served: %d", code)
	}
	if code, _ := s.do("POST", "api/decide", map[string]string{"Content-Type": "application/json"}, `{}`); code != http.StatusForbidden {
		t.Errorf("a decision of a page that is read only: %d", code)
	}
	// A page that listens for changes does not hold the server up.
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"api/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Body.Close()
	if line, err := bufio.NewReader(changes.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "event: changed") {
		t.Errorf("changes: %q, %v", line, err)
	}
	s.stop()
	if _, err := http.DefaultClient.Get(s.url); err == nil {
		t.Error("the server still answers")
	}
}

// A decision goes to the agent with the token alone, with the headers that were given.
func TestServeDecides(t *testing.T) {
	var mu sync.Mutex
	var sent []string
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		io.WriteString(w, "[]")
	}))
	defer agent.Close()
	for _, given := range []string{"", "a-token-of-thirty-two-characters"} {
		sent = nil
		s := serve(t, []string{"CONTEXTGRAPH_TOKEN=" + given}, "--allow-decisions", "--agent", agent.URL+"/api", "--agent-header", "Authorization: Bearer of-the-agent")
		_, text := s.do("GET", "api/session?app=shop&user=alice&id=s-safe", nil, "")
		var got struct {
			Session struct{ Approvals []inspect.Approval }
		}
		data, err := viewertest.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil || len(got.Session.Approvals) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		a := got.Session.Approvals[0]
		decision, err := json.Marshal(map[string]any{
			"app": "shop", "user": "alice", "session": "s-safe", "approval_id": a.ID, "confirmation_id": a.ConfirmationID, "confirmed": true,
		})
		if err != nil {
			t.Fatal(err)
		}
		decide := func(token string) (int, string) {
			return s.do("POST", "api/decide", map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + token}, string(decision))
		}
		if code, text := decide("wrong-wrong-wrong-wrong"); code != http.StatusUnauthorized || len(sent) > 0 {
			t.Errorf("a wrong token: %d, %s, %q", code, text, sent)
		}
		token := given
		if given == "" {
			if token = s.token; len(token) < 16 || strings.Contains(s.said(), token) {
				t.Fatalf("the token %q is not in the address alone: %s", token, s.said())
			}
		} else if s.token != "" || strings.Contains(s.said(), given) {
			t.Errorf("the token of the environment is printed: %s", s.said())
		}
		if code, text := decide(token); code != http.StatusOK {
			t.Errorf("the decision: %d, %s", code, text)
		}
		mu.Lock()
		if len(sent) != 1 || !strings.HasPrefix(sent[0], "/api/run Bearer of-the-agent ") || !strings.Contains(sent[0], a.ConfirmationID) {
			t.Errorf("the agent got %q", sent)
		}
		mu.Unlock()
		s.stop()
	}
}

// The world is checked now by this process or, with --agent-check, by the agent.
func TestServeChecks(t *testing.T) {
	var asked, auth string
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked, auth = string(body), r.Header.Get("Authorization")
		io.WriteString(w, `{"id":"c","verdict":"drift","checked_at":"2026-03-05T12:00:00Z"}`)
	}))
	defer agent.Close()
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"here", nil, []string{`"verdict":"check_failed"`, `"needs_agent":{"`}},
		{"agent", []string{"--agent-check", agent.URL + "/check", "--agent-header", "Authorization: Bearer of-the-agent"}, []string{`"verdict":"drift"`, `"needs_agent":null`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, nil, tc.args...)
			_, text := s.do("GET", "api/inbox", nil, "")
			var inbox struct{ Items []inspect.Item }
			if err := json.Unmarshal([]byte(text), &inbox); err != nil || len(inbox.Items) == 0 {
				t.Fatalf("the inbox: %v: %s", err, text)
			}
			it := inbox.Items[0]
			question, err := json.Marshal(map[string]string{"app": it.Session.App, "user": it.Session.User, "session": it.Session.ID, "approval_id": it.ApprovalID})
			if err != nil {
				t.Fatal(err)
			}
			code, text := s.do("POST", "api/check", map[string]string{"Content-Type": "application/json"}, string(question))
			for _, want := range tc.want {
				if code != http.StatusOK || !strings.Contains(text, want) {
					t.Errorf("the check: %d, no %s in %s", code, want, text)
				}
			}
			if tc.args != nil && (!strings.Contains(asked, it.ApprovalID) || auth != "Bearer of-the-agent") {
				t.Errorf("the agent was asked %s with %q", asked, auth)
			}
			s.stop()
		})
	}
}

// Ctrl-C ends what takes long with the code of shells for it.
func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), filepath.Join(made.dir, "bin", "contextgraph"), "import", "-", "--journal", "new.db")
	c.Dir = dir
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	// It is at work when it has read more than a pipe holds.
	if err == nil {
		_, err = io.WriteString(in, strings.Repeat("\n", 1<<20))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	if exited := new(exec.ExitError); !errors.As(err, &exited) || exited.ExitCode() != 130 {
		t.Errorf("it ended with %v, want 130", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}
