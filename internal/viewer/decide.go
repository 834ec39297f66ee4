// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// kindConfirmation is the kind of request that is answered with yes or no, see
// [inspect.Approval].
const kindConfirmation = "confirmation"

// maxDecision is how long the body of a decision may be, in bytes.
const maxDecision = 16 << 10

// Decision is the answer of a human to one request.
type Decision struct {
	Session        record.Session
	ApprovalID     string
	ConfirmationID string
	Confirmed      bool
}

// Decider brings a decision to the agent that asked. The page decides nothing: the gate of the
// agent takes the answer or does not, and checks the world before anything runs. Its methods are
// called concurrently.
type Decider interface {
	// Authorized reports whether token may decide. It must take the same time for every
	// token of the same length.
	Authorized(token string) bool
	// Decide hands the answer over and returns what to tell the human. An error says that the
	// agent did not take the answer, or that it is not known whether it did.
	Decide(ctx context.Context, d Decision) (message string, err error)
}

// decide takes one decision. A request from another page is refused: it cannot have the
// token, its content type is one that a form cannot send, and its Origin is another.
func (h *handler) decide(w http.ResponseWriter, r *http.Request) {
	if h.Decide == nil {
		fail(w, http.StatusForbidden, "this page is read only: start the server with --allow-decisions to answer from here")
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r.Host) {
		fail(w, http.StatusForbidden, "the request comes from another page")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "send the decision as application/json")
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || !h.Decide.Authorized(token) {
		fail(w, http.StatusUnauthorized, "the token is wrong: use the one that the server printed when it started")
		return
	}
	d, err := readDecision(http.MaxBytesReader(w, r.Body, maxDecision))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	why, err := h.undecidable(r.Context(), d)
	switch {
	case errors.Is(err, inspect.ErrNotFound):
		fail(w, http.StatusNotFound, err.Error())
		return
	case err != nil:
		h.failed(w, r, err)
		return
	case why != "":
		fail(w, http.StatusConflict, why)
		return
	}
	message, err := h.Decide.Decide(r.Context(), d)
	if err != nil {
		fail(w, http.StatusBadGateway, err.Error())
		return
	}
	answer(w, map[string]any{"ok": true, "message": message})
}

// undecidable says why a request cannot be answered from here, "" if it can. The gate would refuse
// most of these answers too, but a human should not have to start a turn of the agent to learn
// that. A request without a gate is never approved here: the page promises a check.
func (h *handler) undecidable(ctx context.Context, d Decision) (why string, err error) {
	s, err := inspect.Look(ctx, h.Source, d.Session, h.Now())
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(s.Approvals, func(a inspect.Approval) bool {
		return a.ConfirmationID == d.ConfirmationID && a.ID == d.ApprovalID
	})
	if i < 0 {
		return "the session has no such request: reload the page", nil
	}
	a := &s.Approvals[i]
	switch {
	case !a.Status.Open():
		return "the request cannot be answered any more: " + a.Explanation, nil
	case a.Kind != kindConfirmation:
		return "the request is for an " + a.Kind + " and not for a yes or no: answer it where the agent is used", nil
	case a.State != "" && !safety.ApprovalState(a.State).Open():
		return "the request was approved and its permit is handed out, so that no answer counts any more: " + a.Explanation, nil
	case d.Confirmed && !a.Enforced:
		return "no gate would check this approval before the call runs: answer it where the agent is used, or let the guard enforce the tool", nil
	}
	return "", nil
}

func readDecision(body io.Reader) (Decision, error) {
	var in struct {
		App            string `json:"app"`
		User           string `json:"user"`
		Session        string `json:"session"`
		ApprovalID     string `json:"approval_id"`
		ConfirmationID string `json:"confirmation_id"`
		Confirmed      *bool  `json:"confirmed"`
	}
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err == nil && dec.Decode(new(any)) != io.EOF {
		err = errors.New("something follows it")
	}
	if err != nil {
		return Decision{}, errors.New("the decision cannot be read: " + err.Error() + "; send one JSON object")
	}
	// Absence is not a no, and least of all a yes.
	if in.Session == "" || in.ConfirmationID == "" || in.Confirmed == nil {
		return Decision{}, errors.New("a decision needs session, confirmation_id and confirmed: send all three")
	}
	return Decision{
		Session: record.Session{App: in.App, User: in.User, ID: in.Session}, ApprovalID: in.ApprovalID,
		ConfirmationID: in.ConfirmationID, Confirmed: *in.Confirmed,
	}, nil
}

// sameHost reports whether an Origin names the server that the request is for.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// served reports whether the Host header is one that is served.
func (h *handler) served(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return slices.ContainsFunc(h.Hosts, func(s string) bool { return strings.EqualFold(s, name) })
}
