// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/server/adka2a/v2"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// peer is another agent that talks to the shop over A2A.
type peer struct {
	*cgtest.Harness
	rc     runner.Config
	client *a2aclient.Client
	task   *a2a.Task
}

// callerName authenticates every caller of a server, unless it is "".
type callerName string

func (c callerName) Before(ctx context.Context, call *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	if c != "" {
		call.User = a2asrv.NewAuthenticatedUser(string(c), nil)
	}
	return ctx, nil, nil
}

func (callerName) After(context.Context, *a2asrv.CallContext, *a2asrv.Response) error { return nil }

// newPeer serves the shop over loopback to a caller of that name.
func newPeer(t *testing.T, as callerName, opts ...cgtest.Option) *peer {
	t.Helper()
	p := &peer{}
	p.Harness = cgtest.New(t, append(opts, func(o *cgtest.Options) {
		o.ChangeRunner = func(rc *runner.Config) { p.rc = *rc }
	})...)
	server := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(
		adka2a.NewExecutor(adka2a.ExecutorConfig{RunnerConfig: p.rc}), a2asrv.WithCallInterceptors(as))))
	t.Cleanup(server.Close)
	client, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{a2a.NewAgentInterface(server.URL, a2a.TransportProtocolJSONRPC)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Destroy() })
	p.client = client
	return p
}

// send sends a message and returns what the shop's task came to.
func (p *peer) send(parts ...*a2a.Part) *a2a.Task {
	p.T.Helper()
	msg := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	if p.task != nil {
		msg.TaskID, msg.ContextID = p.task.ID, p.task.ContextID
	}
	result, err := p.client.SendMessage(p.T.Context(), &a2a.SendMessageRequest{Message: msg})
	if err != nil {
		p.T.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		p.T.Fatalf("the shop answered with a %T", result)
	}
	p.task = task
	return task
}

// confirm answers the request that the task waits with.
func (p *peer) confirm(yes bool) *a2a.Task {
	p.T.Helper()
	if p.task.Status.State != a2a.TaskStateInputRequired {
		p.T.Fatalf("the task is %s: %+v", p.task.Status.State, p.task.Status.Message)
	}
	parts, err := adka2a.ToGenAIParts(p.task.Status.Message.Parts)
	if err != nil {
		p.T.Fatal(err)
	}
	var answers []*genai.Part
	for _, part := range parts {
		if part.FunctionCall != nil {
			answers = append(answers, adktest.Answer(part.FunctionCall.ID, yes).Parts...)
		}
	}
	wire, err := adka2a.ToA2AParts(answers, nil)
	if err != nil || len(wire) == 0 {
		p.T.Fatalf("%d answers, %v", len(wire), err)
	}
	return p.send(wire...)
}

// session is that of the task.
func (p *peer) session(as callerName) record.Session {
	s := record.Session{App: cgtest.App, User: "A2A_USER_" + p.task.ContextID, ID: p.task.ContextID}
	if as != "" {
		s.User = string(as)
	}
	return s
}

// A peer may not approve what it asked for, unless an Authorizer that knows it says so.
func TestPeerDoesNotApproveItsOwnRequest(t *testing.T) {
	authorize := func(f safety.AuthorizerFunc) cgtest.Option {
		return func(o *cgtest.Options) { o.Config.Authorize = f }
	}
	for name, tt := range map[string]struct {
		as     callerName
		opts   []cgtest.Option
		bought int64
		detail string
	}{
		"it has a name": {as: "broker", detail: "an Authorizer"},
		"an identity knows it": {as: "broker", opts: []cgtest.Option{func(o *cgtest.Options) {
			o.Config.Identity = func(ctx context.Context) (string, error) {
				who, err := nameOfCaller(ctx, safety.AuthorizationRequest{Peer: true})
				return "supervisor of " + who, err
			}
		}}, detail: "an Authorizer"},
		"the authorizer knows it": {as: "broker", opts: []cgtest.Option{authorize(func(ctx context.Context, r safety.AuthorizationRequest) (string, error) {
			who, err := nameOfCaller(ctx, r)
			return "supervisor of " + who, err
		})}, bought: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, tt.as, tt.opts...)
			p.send(a2a.NewTextPart("buy a route"))
			task := p.confirm(true)
			p.WantBought(tt.bought)
			as, err := p.CG.Approvals(t.Context(), p.session(tt.as))
			if err != nil || len(as) != 1 {
				t.Fatalf("%d approvals, %v; the task is %s", len(as), err, task.Status.State)
			}
			want := safety.StatePending
			if tt.bought > 0 {
				want = safety.StateExecuted
			}
			if as[0].State != want {
				t.Errorf("the approval is %s, want %s", as[0].State, want)
			}
			if tt.detail == "" {
				return
			}
			last := adktest.LastResponse(p.Model.Requests()[len(p.Model.Requests())-1])
			if last == nil || last.Response["reason"] != safety.CodeNotAuthorized || !strings.Contains(last.Response["message"].(string), tt.detail) {
				t.Errorf("the model was told %v, want %q", last, tt.detail)
			}
			if err := p.CG.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			rows, err := store.Events(t.Context(), p.Store(), p.session(tt.as))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range rows {
				if e.EventType == record.HITLConfirmationRequestCompleted && !strings.Contains(e.ErrorMessage, tt.detail) {
					t.Errorf("the record says %q, want %q", e.ErrorMessage, tt.detail)
				}
			}
		})
	}
}

// nameOfCaller names who called over A2A.
func nameOfCaller(ctx context.Context, r safety.AuthorizationRequest) (string, error) {
	call, ok := a2asrv.CallContextFrom(ctx)
	if !ok || !r.Peer || call.User == nil || !call.User.Authenticated {
		return "", errors.New("not an authenticated peer")
	}
	return call.User.Name, nil
}
