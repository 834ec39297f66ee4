// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// asking makes a journal in the current directory with one open request, and returns it.
func asking(t *testing.T, change func(*safety.Approval)) (*journal.Journal, safety.Approval) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(defaultConfig, []byte("guard: {mode: enforce}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	a := storetest.Pending(1)
	a.ID, a.ConfirmationID, a.Tool, a.Approvers, a.Replaces = "e43c5bd854ffcbba14f1790f4a02761f", "adk-f783f2ad", "deploy", 1, ""
	a.RequestedAt, a.ExpiresAt = demoNow.Add(-12*time.Minute), demoNow.Add(time.Hour)
	a.UpdatedAt = a.RequestedAt
	if change != nil {
		change(&a)
	}
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	row(t, j, a, record.HITLConfirmationRequest, `"enforced":true`)
	return j, a
}

// row records a row of a request, and waits until it is stored.
func row(t *testing.T, j *journal.Journal, a safety.Approval, eventType, adk string) {
	t.Helper()
	seq, err := j.LastSeq(t.Context())
	if err != nil {
		t.Error(err)
	}
	seq++
	j.Append(record.Event{
		Timestamp: demoNow.UnixMicro() + seq, EventID: fmt.Sprintf("%032d", seq), EventType: eventType,
		AppName: a.Session.App, UserID: a.Session.User, SessionID: a.Session.ID, TraceID: "t", SpanID: strings.SplitN(eventType, "_", 2)[0], Status: record.StatusOK, RunID: "run", RunSeq: seq,
		Content: []byte(`{"tool":"deploy","result":{}}`), Attributes: []byte(`{"adk":{"call_id":"` + a.CallID + `","approval_id":"` + a.ID + `","confirmation_id":"` + a.ConfirmationID + `",` + adk + `}}`),
	})
	if err := j.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

// gate plays what the gate of an agent makes of an answer.
type gate struct {
	t *testing.T
	j *journal.Journal
	a safety.Approval
}

func (g gate) move(from, to safety.ApprovalState, tr safety.Transition) {
	g.t.Helper()
	tr.ID, tr.From, tr.To, tr.At = g.a.ID, []safety.ApprovalState{from}, to, demoNow
	if _, err := g.j.Ledger().Transition(g.t.Context(), tr); err != nil {
		g.t.Error(err)
	}
}

func (g gate) answered(adk string) {
	g.t.Helper()
	row(g.t, g.j, g.a, record.HITLConfirmationRequestCompleted, adk)
}

func (g gate) consents(verdict string) {
	g.move(safety.StatePending, safety.StateApproved, safety.Transition{Actor: "eva", Set: safety.Update{Verdict: verdict, Consent: safety.Consent{Who: "eva"}}})
}

func (g gate) starts() {
	g.consents("safe")
	g.move(safety.StateApproved, safety.StatePermitted, safety.Transition{Actor: "run", Set: safety.Update{Verdict: "safe", PermitNonce: "n", PermitRun: "run", PermitExpiresAt: demoNow.Add(time.Minute)}})
	g.move(safety.StatePermitted, safety.StateExecuting, safety.Transition{Actor: "run", RequireNonce: "n"})
	g.answered(`"confirmed":true,"accepted":true,"approver":"eva"`)
	row(g.t, g.j, g.a, record.WorldChangeCheck, `"stage":"answer","verdict":"safe"`)
	row(g.t, g.j, g.a, record.ToolStarting, `"x":1`)
}

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		args   string
		change func(*safety.Approval)
		gate   func(gate)
		status int // of the agent, 200 if it is 0
		code   int
		want   []string
		not    string
	}{
		"executed": {"approve e43c --yes", nil, func(g gate) {
			g.starts()
			g.move(safety.StateExecuting, safety.StateExecuted, safety.Transition{Actor: "run"})
			row(g.t, g.j, g.a, record.ToolCompleted, `"x":1`)
		}, 0, exitOK, []string{"sent: to the agent", "answered: eva said yes", "checked: Checked when it was answered: nothing has changed.", "ended: deploy ran", "executed: "}, "blocked"},
		"failed": {"approve e43c --yes", nil, func(g gate) {
			g.starts()
			g.move(safety.StateExecuting, safety.StateFailed, safety.Transition{Actor: "run"})
			row(g.t, g.j, g.a, record.ToolError, `"x":1`)
		}, 0, exitError, []string{"failed: "}, "executed: "},
		"drift": {"approve adk-f7 --yes", nil, func(g gate) {
			g.move(safety.StatePending, safety.StateBlocked, safety.Transition{Actor: "eva", Set: safety.Update{Verdict: "drift"}})
			g.answered(`"confirmed":true,"accepted":false,"reason":"drift"`)
			row(g.t, g.j, g.a, record.WorldChangeCheck, `"stage":"answer","verdict":"drift"`)
		}, 0, exitChanged, []string{"sent: ", "checked: Checked when it was answered: the world has changed", "blocked: The world changed"}, "executed"},
		"check failed": {"approve e43c --yes", nil, func(g gate) {
			g.answered(`"confirmed":true,"accepted":false,"reason":"check_failed"`)
			row(g.t, g.j, g.a, record.WorldChangeCheck, `"stage":"answer","verdict":"check_failed"`)
		}, 0, exitCheckFailed, []string{"check failed: The check failed", "The request stays open"}, "executed"},
		"one of two": {"approve e43c --yes", func(a *safety.Approval) { a.Approvers = 2 }, func(g gate) {
			g.move(safety.StatePending, safety.StateApproved, safety.Transition{Actor: "eva", Set: safety.Update{Verdict: "safe", Consent: safety.Consent{Who: "eva"}}})
			g.answered(`"confirmed":true,"accepted":false,"reason":"more_approvers","approver":"eva","consents":["eva"],"approvers":2`)
		}, 0, exitMore, []string{"1 of 2 people have approved: "}, "executed"},
		"in doubt": {"approve e43c --yes", nil, func(g gate) { g.starts() }, 0, exitOver, []string{"started: deploy was started; its end is not on record yet.", "in doubt: "}, "executed"},
		"not authorized": {"approve e43c --yes", nil, func(g gate) {
			g.answered(`"confirmed":true,"accepted":false,"reason":"not_authorized","approver":"eva"`)
		}, 0, exitError, []string{"refused: eva said yes, and it did not count", "pending: "}, "executed"},
		"another agent": {"approve e43c --yes", nil, func(gate) {}, 0, exitError, []string{"no answer is on record: is this the journal of that agent?"}, "executed"},
		"agent fails":   {"approve e43c --yes", nil, func(gate) {}, http.StatusInternalServerError, exitError, []string{"500 Internal Server Error"}, "executed"},
		"overridden by one": {`approve e43c --yes --override by-phone`, nil, func(g gate) {
			g.move(safety.StatePending, safety.StateApproved, safety.Transition{Actor: "eva", Set: safety.Update{Verdict: "check_failed", Consent: safety.Consent{Who: "eva", Override: "by-phone", Unchecked: []string{"Product it"}}}})
			g.answered(`"confirmed":true,"accepted":false,"reason":"check_failed","approver":"eva","override":"by-phone","consents":["eva"],"approvers":1`)
		}, 0, exitMore, []string{"refused: eva said yes", "1 of 2 people override: "}, "executed"},
		"resolved": {`resolve e43c --happened --because seen`, nil, func(g gate) {
			g.move(safety.StateExecuting, safety.StateExecuted, safety.Transition{Actor: "eva", Resolved: true})
			g.answered(`"confirmed":false,"accepted":false,"reason":"happened","because":"seen","approver":"eva"`)
		}, 0, exitOK, []string{"sent: to the agent", "resolved: eva looked and says that it took effect: seen.", "executed: deploy began", "Nobody saw it."}, "check failed"},
		"resolved as not happened": {`resolve e43c --did-not --because seen`, nil, func(g gate) {
			g.move(safety.StateExecuting, safety.StateFailed, safety.Transition{Actor: "eva", Resolved: true})
			g.answered(`"confirmed":false,"accepted":false,"reason":"did_not_happen","because":"seen","approver":"eva"`)
		}, 0, exitOK, []string{"resolved: eva looked and says that it did not take effect: seen.", "failed: "}, "executed"},
		"not resolved": {`resolve e43c --happened --because seen`, nil, func(g gate) {
			g.answered(`"confirmed":false,"accepted":false,"reason":"not_authorized"`)
		}, 0, exitOver, []string{"refused: Somebody said no, and it did not count: whoever answered may not", "in doubt: "}, "executed"},
		"two people": {"approve e43c --yes", func(a *safety.Approval) { a.Approvers = 2 }, func(g gate) {
			g.consents("safe")
			g.move(safety.StatePending, safety.StateApproved, safety.Transition{Actor: "tom", Set: safety.Update{Verdict: "safe", Consent: safety.Consent{Who: "tom"}}})
			g.move(safety.StateApproved, safety.StatePermitted, safety.Transition{Actor: "run", Set: safety.Update{Verdict: "safe", PermitNonce: "n", PermitRun: "run", PermitExpiresAt: demoNow.Add(time.Minute)}})
			g.move(safety.StatePermitted, safety.StateExecuting, safety.Transition{Actor: "run", RequireNonce: "n"})
			g.move(safety.StateExecuting, safety.StateExecuted, safety.Transition{Actor: "run"})
			g.answered(`"confirmed":true,"accepted":true,"approver":"tom","consents":["eva","tom"],"approvers":2`)
		}, 0, exitOK, []string{"executed: Approved by eva and tom, checked"}, "blocked"},
		"rejected": {`reject e43c`, nil, func(g gate) {
			g.move(safety.StatePending, safety.StateRejected, safety.Transition{Actor: "eva", Set: safety.Update{Approver: "eva"}})
			g.answered(`"confirmed":false,"accepted":false,"reason":"rejected","approver":"eva"`)
		}, 0, exitOK, []string{"answered: eva said no", "rejected: "}, "executed"},
		"changed": {"reject e43c --change less", nil, func(g gate) {
			g.move(safety.StatePending, safety.StateRejected, safety.Transition{Actor: "eva", Set: safety.Update{Approver: "eva", Change: "less"}})
			g.answered(`"confirmed":false,"accepted":false,"reason":"change_wanted","change":"less","approver":"eva"`)
		}, 0, exitOK, []string{"wants another plan: less"}, "executed"},
		"rejected too late": {"reject e43c", nil, func(g gate) {
			g.starts()
			g.move(safety.StateExecuting, safety.StateExecuted, safety.Transition{Actor: "run"})
			row(g.t, g.j, g.a, record.ToolCompleted, `"x":1`)
		}, 0, exitOver, []string{"executed: "}, "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			j, a := asking(t, test.change)
			if strings.HasPrefix(test.args, "resolve") {
				gate{t, j, a}.starts()
			}
			var sent string
			done := make(chan struct{})
			agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent = r.Header.Get("X-Me") + string(body)
				test.gate(gate{t, j, a})
				close(done)
				if test.status != 0 {
					w.WriteHeader(test.status)
				}
			}))
			defer agent.Close()
			t.Setenv(agentVariable, agent.URL)
			code, stdout, stderr := askWith(t, &app{tick: ticks(t, done)}, append(strings.Fields(test.args), "--agent-header", "X-Me: eva")...)
			if code != test.code {
				t.Errorf("it ends with %d, want %d", code, test.code)
			}
			all := stdout + stderr
			for _, want := range test.want { // in this order
				_, after, found := strings.Cut(all, want)
				if !found {
					t.Errorf("%q is missing, or too early", want)
				}
				all = after
			}
			if strings.Contains(stdout, test.not) {
				t.Errorf("it says %q", test.not)
			}
			if !strings.HasPrefix(sent, "eva{") || !strings.Contains(sent, a.ConfirmationID) {
				t.Errorf("the agent got %s", sent)
			}
			if t.Failed() {
				t.Logf("\n%s%s", stdout, stderr)
			}
		})
	}
}

// ticks is a clock that ticks whenever somebody waits for it, when after is closed.
func ticks(t *testing.T, after <-chan struct{}) <-chan time.Time {
	ticks := make(chan time.Time)
	go func() {
		select {
		case <-after:
		case <-t.Context().Done():
		}
		for {
			select {
			case ticks <- demoNow:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return ticks
}

// TestDecideInOrder: lines come in the order in which things happened, each once, although the ledger knows of a check
// before the rows of the answer are there.
func TestDecideInOrder(t *testing.T) {
	j, a := asking(t, nil)
	ticks, done := make(chan time.Time), make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		defer close(done)
		g := gate{t, j, a}
		report := []byte(`{"id":"c1","verdict":"safe","checked_at":"` + demoNow.Format(time.RFC3339) + `"}`)
		g.move(safety.StatePending, safety.StateApproved, safety.Transition{Actor: "eva", Set: safety.Update{Verdict: "safe", Report: report, Consent: safety.Consent{Who: "eva"}}})
		for range 3 {
			ticks <- demoNow
		}
		g.answered(`"confirmed":true,"accepted":true,"approver":"eva"`)
		for range 3 {
			ticks <- demoNow
		}
		g.move(safety.StateApproved, safety.StateRejected, safety.Transition{Actor: "eva", Set: safety.Update{Approver: "eva"}})
		g.answered(`"confirmed":false,"accepted":false,"reason":"rejected","approver":"eva"`)
	}))
	defer agent.Close()
	go func() {
		<-done
		for t.Context().Err() == nil {
			select {
			case ticks <- demoNow:
			case <-t.Context().Done():
			}
		}
	}()
	_, stdout, _ := askWith(t, &app{tick: ticks}, "approve", "e43c", "--yes", "--agent", agent.URL)
	var steps []string
	for line := range strings.Lines(stdout) {
		step, _, _ := strings.Cut(line, ":")
		steps = append(steps, step)
	}
	if got := strings.Join(steps, " "); got != "sent answered checked answered rejected" {
		t.Errorf("%s\n%s", got, stdout)
	}
}

// TestDecideAway: without a connection nothing was sent, and nothing says so.
func TestDecideAway(t *testing.T) {
	asking(t, nil)
	agent := httptest.NewServer(http.NotFoundHandler())
	agent.Close()
	code, stdout, stderr := runCommand(t, "approve", "e43c", "--yes", "--agent", agent.URL)
	if code != exitError || stdout != "" || !strings.Contains(stderr, "nothing was sent: the agent at "+agent.URL+"/run cannot be reached") || strings.Contains(stderr, "may still have an effect") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

// TestAgentCheck: with --agent-check the program of the agent checks, for check and for who approves.
func TestAgentCheck(t *testing.T) {
	_, a := asking(t, nil)
	asked := ""
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = r.Header.Get("X-Me") + string(body)
		fmt.Fprintf(w, `{"id":"c1","approval_id":%q,"verdict":"safe","total_entities":1,"session":{"app":"a","user":"u","id":"s"},"entities":[{"type":"Product","value":"it","outcome":"unchanged"}],"alerts":[],"warnings":[],"failures":[]}`, a.ID)
	}))
	defer agent.Close()
	code, stdout, stderr := runCommand(t, "check", a.Session.ID, "--agent-check", agent.URL, "--agent-header", "X-Me: eva")
	if code != exitOK || !strings.Contains(stdout, "✓ unchanged") || strings.Contains(stdout, "needs the agent") || !strings.HasPrefix(asked, "eva{") || !strings.Contains(asked, a.ID) {
		t.Errorf("%d, asked %s\n%s%s", code, asked, stdout, stderr)
	}
	asked = ""
	app := &app{stdin: strings.NewReader("n\n"), terminal: func(io.Writer) bool { return true }}
	_, stdout, stderr = askWith(t, app, "approve", "e43c", "--agent", agent.URL, "--agent-check", agent.URL, "--no-color")
	if asked == "" || !strings.Contains(stdout, "✓ unchanged") || !strings.Contains(stderr, "nothing was sent") {
		t.Errorf("asked %q\n%s%s", asked, stdout, stderr)
	}
}

// TestDecideRefuses: what no gate would take is not sent.
func TestDecideRefuses(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was sent") }))
	defer agent.Close()
	moved := func(to safety.ApprovalState) func(gate) {
		return func(g gate) { g.move(safety.StatePending, to, safety.Transition{Actor: "eva"}) }
	}
	for name, test := range map[string]struct {
		args   string
		before func(gate)
		code   int
		want   string
	}{
		"unknown":        {"approve nothing --yes", nil, exitNotFound, `has no approval "nothing"`},
		"no agent":       {"approve e43c --yes --agent=", nil, exitUsage, "name the agent with --agent"},
		"wrong agent":    {"approve e43c --yes --agent ftp://x", nil, exitUsage, "ftp://x"},
		"wrong header":   {"approve e43c --yes --agent-header secret", nil, exitUsage, "write NAME:VALUE"},
		"no terminal":    {"approve e43c", nil, exitUsage, "then add --yes"},
		"two words":      {"reject e43c --reason a --change b", nil, exitUsage, "say either why"},
		"rejected":       {"approve e43c --yes", moved(safety.StateRejected), exitOver, "cannot be answered any more (rejected)"},
		"expired":        {"approve e43c --yes", moved(safety.StateExpired), exitOver, "cannot be answered any more (expired)"},
		"blocked":        {"approve e43c --yes", moved(safety.StateBlocked), exitChanged, "cannot be answered any more (drift)"},
		"an override":    {"reject e43c --override x", nil, exitUsage, "unknown flag: --override"},
		"neither":        {"resolve e43c --because seen", nil, exitUsage, "write --happened or --did-not"},
		"both":           {"resolve e43c --happened --did-not --because seen", nil, exitUsage, "write --happened or --did-not"},
		"no because":     {"resolve e43c --happened", nil, exitUsage, "say with --because how you know"},
		"not in doubt":   {"resolve e43c --happened --because seen", nil, exitError, "the call is not in doubt, so there is nothing to resolve (pending)"},
		"check where":    {"approve e43c --agent-check ftp://x", nil, exitUsage, "ftp://x"},
		"without a name": {"approve", nil, exitUsage, "takes the id of one approval"},
	} {
		t.Run(name, func(t *testing.T) {
			j, a := asking(t, nil)
			if test.before != nil {
				test.before(gate{t, j, a})
			}
			if !strings.Contains(test.args, "--agent=") {
				t.Setenv(agentVariable, agent.URL)
			}
			code, stdout, stderr := runCommand(t, strings.Fields(test.args)...)
			if code != test.code || !strings.Contains(stderr, test.want) || stdout != "" {
				t.Errorf("%d, want %d and %q\n%s%s", code, test.code, test.want, stdout, stderr)
			}
		})
	}
}

// TestApproveAsks: at a terminal somebody sees what would run, and says yes.
func TestApproveAsks(t *testing.T) {
	for said, want := range map[string]int{"y\n": 1, "YES\n": 1, "n\n": 0, "\n": 0, "": 0, "yesterday\n": 0} {
		j, a := asking(t, nil)
		sent, done := 0, make(chan struct{})
		agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			sent++
			gate{t, j, a}.move(safety.StatePending, safety.StateBlocked, safety.Transition{Actor: "eva"})
			close(done)
		}))
		app := &app{tick: ticks(t, done), stdin: strings.NewReader(said), terminal: func(io.Writer) bool { return true }}
		code, stdout, stderr := askWith(t, app, "approve", "e43c", "--agent", agent.URL, "--no-color")
		agent.Close()
		if sent != want || !strings.Contains(stderr, "Approve? [y/N]") || (want == 0) != strings.Contains(stderr, "nothing was sent") {
			t.Errorf("%q: sent %d times, %d\n%s%s", said, sent, code, stdout, stderr)
		}
		for _, part := range []string{"deploy", "Arguments", "result", "SEEN", "needs the agent"} {
			if !strings.Contains(stdout, part) {
				t.Errorf("%q is not shown:\n%s", part, stdout)
			}
		}
	}
}

// TestDecideInterrupted: who does not wait is told that the answer is on its way.
func TestDecideInterrupted(t *testing.T) {
	asking(t, nil)
	begun := make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(begun)
		<-r.Context().Done()
	}))
	defer agent.Close()
	ctx, interrupt := contextWith(t, begun)
	defer interrupt()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"approve", "e43c", "--yes", "--agent", agent.URL}, &app{stdout: &out, stderr: &errs, now: func() time.Time { return demoNow }, tick: make(chan time.Time)})
	if code != exitInterrupted || !strings.Contains(errs.String(), "may still have an effect") || strings.Contains(out.String(), "executed") {
		t.Errorf("%d\n%s%s", code, out.String(), errs.String())
	}
}

var errStopped = errors.New("it was stopped")

// contextWith returns a context that ends when a channel is closed.
func contextWith(t *testing.T, over <-chan struct{}) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		select {
		case <-over:
		case <-ctx.Done():
		}
		cancel(errStopped)
	}()
	return ctx, func() { cancel(nil) }
}
