// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package answer brings the answer of a human to the agent that asked, over ADK's REST API. The page
// and the command line use it. It decides nothing: the gate of the agent takes the answer or
// refuses it, and checks the world before anything runs.
package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// turnTime bounds the turn of the agent that a decision starts.
	turnTime = 10 * time.Minute
	// maxTurns bounds the turns that are under way at the same time.
	maxTurns = 32
	// maxError is how much of an error of the agent is shown, in bytes.
	maxError = 2 << 10
	// maxReport bounds the report of a check, in bytes.
	maxReport = 16 << 20
)

// Endpoint is a place at which the program of an agent takes JSON.
type Endpoint struct {
	URL string
	// Header is sent with each question, such as an authorization.
	Header http.Header
	// Client is the HTTP client. Default: one without a timeout of its own that follows no redirects: they would bring the
	// headers to somebody else.
	Client *http.Client
}

// Refused is what an agent says in the place of an answer.
type Refused struct {
	URL, Status string
	Code        int
	Said        []byte
}

// Error implements error.
func (r *Refused) Error() string {
	said := strings.ToValidUTF8(string(r.Said[:min(len(r.Said), maxError)]), "\uFFFD")
	return fmt.Sprintf("the agent at %s said %s: %s", r.URL, r.Status, said)
}

// Check returns e with its default, or what is wrong with its URL; example is one that would do. It does not connect.
func (e Endpoint) Check(example string) (Endpoint, error) {
	u, err := url.Parse(e.URL)
	switch {
	case err == nil && u.User != nil:
		return e, fmt.Errorf("the URL of the agent, %q, has a password in it: send it as a header", u.Redacted())
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return e, fmt.Errorf("the URL of the agent, %q: use one such as %s", e.URL, example)
	}
	if e.Client == nil {
		e.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	e.Header = e.Header.Clone()
	return e, nil
}

// Post sends a question, and returns the first bytes of the answer when the whole of it is there. away is what an error
// says of an agent that gives none. The error is a [Refused] for an answer that is none.
func (e Endpoint) Post(ctx context.Context, question any, most int64, away string) ([]byte, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, e.Header)
	r.Header.Set("Content-Type", "application/json")
	resp, err := e.Client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the agent at %s %s: %w", e.URL, away, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if resp.StatusCode != http.StatusOK {
		return nil, &Refused{URL: e.URL, Status: resp.Status, Code: resp.StatusCode, Said: text}
	}
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of the agent at %s was cut off: %w", e.URL, err)
	}
	return text, nil
}

// Checker asks the program of an agent to check the world now, over Instance.CheckHandler. It permits
// nothing. It is safe for concurrent use.
type Checker struct{ at Endpoint }

// NewChecker checks the URL; it does not connect.
func NewChecker(at Endpoint) (*Checker, error) {
	at, err := at.Check("http://localhost:8080/contextgraph/check")
	return &Checker{at}, err
}

// Check returns the report of the check as JSON. The agent has every checker, so no type needs it.
func (c *Checker) Check(ctx context.Context, s record.Session, approvalID string) ([]byte, map[string]string, error) {
	question := map[string]string{"app": s.App, "user": s.User, "session": s.ID, "approval_id": approvalID}
	report, err := c.at.Post(ctx, question, maxReport, "could not be asked")
	return report, nil, err
}

// Agent is an agent behind ADK's REST API. Each decision is a message of the user of the session, and
// starts a turn of the agent. It is safe for concurrent use. Close it.
type Agent struct {
	at     Endpoint
	ctx    context.Context
	cancel context.CancelFunc
	turns  sync.WaitGroup

	mu sync.Mutex
	// under holds the decisions with a turn under way.
	under  map[Decision]bool
	closed bool
}

// NewAgent checks the root of the agent's ADK REST API, such as http://localhost:8080/api; it does not connect.
func NewAgent(api Endpoint) (*Agent, error) {
	at, err := api.Check("http://localhost:8080/api")
	if err != nil {
		return nil, err
	}
	if at.URL, err = url.JoinPath(at.URL, "run"); err != nil {
		return nil, err
	}
	a := &Agent{at: at, under: make(map[Decision]bool)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// Close ends the turns that are under way for this process and waits for them until ctx ends. The
// agent may finish a turn that it began.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	done := make(chan struct{})
	go func() { a.turns.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Send sends the answer as the message that ADK expects, and returns as soon as it is written. An error says that
// nothing was sent. The channel gets the end of the turn: nil, or the error of the agent. The turn goes on when ctx
// ends. nil means that the turn ended, and not that the gate took the answer: the record says that.
//
// The same decision is not sent twice at once: where no gate would notice, the call would run twice.
func (a *Agent) Send(ctx context.Context, d Decision) (<-chan error, error) {
	if err := errors.Join(ctx.Err(), d.Check()); err != nil {
		return nil, err
	}
	message := map[string]any{
		"appName": d.Session.App, "userId": d.Session.User, "sessionId": d.Session.ID,
		"newMessage": map[string]any{"role": "user", "parts": []any{map[string]any{"functionResponse": map[string]any{
			"id": d.ConfirmationID, "name": "adk_request_confirmation", "response": d.response(),
		}}}},
	}
	if err := a.begin(d); err != nil {
		return nil, err
	}
	result, written := make(chan error, 1), make(chan struct{})
	go func() {
		defer a.turns.Done()
		err := a.send(message, sync.OnceFunc(func() { close(written) }))
		a.mu.Lock()
		delete(a.under, d)
		a.mu.Unlock()
		result <- err
	}()
	select {
	case <-written:
	case <-ctx.Done(): // it may still be sent
	case err := <-result:
		if dialled, is := errors.AsType[*net.OpError](err); is && dialled.Op == "dial" {
			return nil, fmt.Errorf("nothing was sent: the agent at %s cannot be reached: %w", a.at.URL, dialled)
		}
		result <- err
	}
	return result, nil
}

// begin notes that a decision is under way, or says why it must not be sent.
func (a *Agent) begin(d Decision) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errors.New("the way to the agent is closed; nothing was sent")
	case a.under[d]:
		return errors.New("this answer was sent before, and the agent is at work on it; nothing was sent again")
	case len(a.under) >= maxTurns:
		return fmt.Errorf("%d turns of agents are under way; nothing was sent: wait until one of them ends", len(a.under))
	}
	a.under[d] = true
	a.turns.Add(1)
	return nil
}

// send runs one turn of the agent. It calls written when the request is written.
func (a *Agent) send(message any, written func()) error {
	ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			written()
		}
	}}), turnTime)
	defer cancel()
	_, err := a.at.Post(ctx, message, maxError, "did not answer, so it is not known whether it took the answer")
	return err
}
