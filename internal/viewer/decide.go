// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// maxDecision is how long the body of a decision may be, in bytes.
	maxDecision = 16 << 10
	// answerWithin is how long a page waits for a turn: most refusals of the agent come sooner.
	answerWithin = 3 * time.Second
)

// Decider brings a decision to the agent that asked, see [answer.Agent]. The page decides nothing: the
// gate of the agent takes the answer or does not, and checks the world before anything runs. Its
// method is called concurrently.
type Decider interface {
	// Send starts the turn that the answer brings, and returns at once. The channel gets the end
	// of the turn. An error says that nothing was sent.
	Send(ctx context.Context, d answer.Decision) (<-chan error, error)
}

// decide takes one decision. A request from another page is refused: it cannot have the token either.
func (h *handler) decide(w http.ResponseWriter, r *http.Request) {
	if h.Decide == nil {
		fail(w, http.StatusForbidden, "this page is read only: start the server with --allow-decisions to answer from here")
		return
	}
	if !ownPage(w, r) {
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || !h.authorized(token) {
		fail(w, http.StatusUnauthorized, "the token is wrong: use the one that the server printed when it started")
		return
	}
	d, err := readDecision(http.MaxBytesReader(w, r.Body, maxDecision))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	seen, err := inspect.Look(r.Context(), h.Source, d.Session, h.Now())
	switch {
	case errors.Is(err, inspect.ErrNotFound):
		fail(w, http.StatusNotFound, err.Error())
		return
	case err != nil:
		h.failed(w, r, err)
		return
	}
	if why := answer.Refusal(seen, d); why != "" {
		fail(w, http.StatusConflict, why)
		return
	}
	turn, err := h.Decide.Send(r.Context(), d)
	if err != nil {
		fail(w, http.StatusConflict, err.Error())
		return
	}
	wait := time.NewTimer(answerWithin)
	defer wait.Stop()
	select {
	case err := <-turn:
		if err != nil {
			fail(w, http.StatusBadGateway, err.Error())
			return
		}
	case <-wait.C: // the agent is at work
	case <-r.Context().Done():
		return
	}
	// The page reads in the record what came of it.
	reply(w, map[string]any{"ok": true, "message": "The answer was sent."})
}

// mayOverride says of each request who may override its check.
func (h *handler) mayOverride(s *inspect.Session) {
	if h.Overriders == nil {
		return
	}
	for i := range s.Approvals {
		if a := &s.Approvals[i]; slices.Contains(a.Can, inspect.CanOverride) {
			a.MayOverride = h.Overriders(a.Tool)
		}
	}
}

// authorized reports whether a token may decide. It takes the same time for every token.
func (h *handler) authorized(token string) bool {
	given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(h.Token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

func readDecision(body io.Reader) (answer.Decision, error) {
	var in struct {
		App            string `json:"app"`
		User           string `json:"user"`
		Session        string `json:"session"`
		ApprovalID     string `json:"approval_id"`
		ConfirmationID string `json:"confirmation_id"`
		Confirmed      *bool  `json:"confirmed"`
		Reason         string `json:"reason"`
		Change         string `json:"change"`
		Override       string `json:"override"`
		Resolve        string `json:"resolve"`
	}
	if err := readObject(body, &in); err != nil {
		return answer.Decision{}, errors.New("the decision cannot be read: " + err.Error() + "; send one JSON object")
	}
	// Absence is not a no, and least of all a yes.
	if in.Session == "" || in.ConfirmationID == "" || in.Confirmed == nil {
		return answer.Decision{}, errors.New("a decision needs session, confirmation_id and confirmed: send all three")
	}
	d := answer.Decision{
		Session: record.Session{App: in.App, User: in.User, ID: in.Session}, ApprovalID: in.ApprovalID,
		ConfirmationID: in.ConfirmationID, Confirmed: *in.Confirmed, Reason: strings.TrimSpace(in.Reason), Change: strings.TrimSpace(in.Change),
		Override: strings.TrimSpace(in.Override), Resolve: in.Resolve,
	}
	return d, d.Check()
}

// readObject reads one JSON object with no other members than those of to.
func readObject(body io.Reader, to any) error {
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	if err == nil && dec.Decode(new(any)) != io.EOF {
		err = errors.New("something follows it")
	}
	return err
}

// ownPage reports whether a request that does something comes from the page of this server, and
// answers it if not. Its content type is one that a form cannot send, and its Origin is this server.
func ownPage(w http.ResponseWriter, r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r.Host) {
		fail(w, http.StatusForbidden, "the request comes from another page")
		return false
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "send one JSON object as application/json")
		return false
	}
	return true
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
