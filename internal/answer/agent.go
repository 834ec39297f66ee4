// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

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
)

const (
	// turnTime bounds the turn of the agent that a decision starts.
	turnTime = 10 * time.Minute
	// maxTurns bounds the turns that are under way at the same time.
	maxTurns = 32
	// maxError is how much of an error of the agent is shown, in bytes.
	maxError = 2 << 10
)

// AgentConfig are the settings of [NewAgent].
type AgentConfig struct {
	// URL is the root of the agent's ADK REST API, such as http://localhost:8080/api.
	URL string
	// Header is sent to the agent with each decision, such as its authorization.
	Header http.Header
	// Client is the HTTP client. Default: one without a timeout of its own and without redirects.
	Client *http.Client
}

// Agent is an agent behind ADK's REST API. Each decision is a message of the user of the session, and
// starts a turn of the agent. It is safe for concurrent use. Close it.
type Agent struct {
	endpoint
	ctx    context.Context
	cancel context.CancelFunc
	turns  sync.WaitGroup

	mu sync.Mutex
	// under holds the decisions with a turn under way.
	under  map[Decision]bool
	closed bool
}

// NewAgent checks the settings; it does not connect.
func NewAgent(cfg AgentConfig) (*Agent, error) {
	e, err := newEndpoint(cfg.URL, "http://localhost:8080/api", cfg.Header, cfg.Client)
	if err != nil {
		return nil, err
	}
	a := &Agent{endpoint: e, under: make(map[Decision]bool)}
	a.url = a.url.JoinPath("run")
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// endpoint is a place at which the agent takes JSON.
type endpoint struct {
	url    *url.URL
	header http.Header
	client *http.Client
}

// newEndpoint checks a URL; example is one that would do. Without a client it makes one that follows no redirects: they
// would bring the headers to somebody else.
func newEndpoint(text, example string, header http.Header, client *http.Client) (endpoint, error) {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.User != nil:
		return endpoint{}, fmt.Errorf("the URL of the agent, %q, has a password in it: send it as a header", u.Redacted())
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, fmt.Errorf("the URL of the agent, %q: use one such as %s", text, example)
	}
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return endpoint{u, header.Clone(), client}, nil
}

// post sends a body, and returns the beginning of the answer when the whole of it is there. away is what an error says
// of an agent that gives none.
func (e *endpoint) post(ctx context.Context, body []byte, most int64, away string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, e.header)
	r.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the agent at %s %s: %w", e.url, away, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if resp.StatusCode != http.StatusOK {
		said := strings.ToValidUTF8(string(text[:min(len(text), maxError)]), "\uFFFD")
		return nil, fmt.Errorf("the agent at %s said %s: %s", e.url, resp.Status, said)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of the agent at %s was cut off: %w", e.url, err)
	}
	return text, nil
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
	body, err := json.Marshal(map[string]any{
		"appName": d.Session.App, "userId": d.Session.User, "sessionId": d.Session.ID,
		"newMessage": map[string]any{"role": "user", "parts": []any{map[string]any{"functionResponse": map[string]any{
			"id": d.ConfirmationID, "name": "adk_request_confirmation", "response": d.response(),
		}}}},
	})
	if err != nil {
		return nil, err
	}
	if err := a.begin(d); err != nil {
		return nil, err
	}
	result, written := make(chan error, 1), make(chan struct{})
	go func() {
		defer a.turns.Done()
		err := a.send(body, sync.OnceFunc(func() { close(written) }))
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
			return nil, fmt.Errorf("nothing was sent: the agent at %s cannot be reached: %w", a.url, dialled)
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
func (a *Agent) send(body []byte, written func()) error {
	ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			written()
		}
	}}), turnTime)
	defer cancel()
	_, err := a.post(ctx, body, maxError, "did not answer, so it is not known whether it took the answer")
	return err
}
