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
	"sync"
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

// sent is what a page sends about a request.
type sent struct {
	App, User, Session, Reason, Change, Override, Resolve string

	ApprovalID     string `json:"approval_id"`
	ConfirmationID string `json:"confirmation_id"`
	Confirmed      *bool
}

func (s *sent) session() record.Session {
	return record.Session{App: s.App, User: s.User, ID: s.Session}
}

func readDecision(body io.Reader) (answer.Decision, error) {
	var in sent
	if err := readObject(body, &in); err != nil {
		return answer.Decision{}, errors.New("the decision cannot be read: " + err.Error() + "; send one JSON object")
	}
	// Absence is not a no, and least of all a yes.
	if in.Session == "" || in.ConfirmationID == "" || in.Confirmed == nil {
		return answer.Decision{}, errors.New("a decision needs session, confirmation_id and confirmed: send all three")
	}
	d := answer.Decision{
		Session: in.session(), ApprovalID: in.ApprovalID, ConfirmationID: in.ConfirmationID, Confirmed: *in.Confirmed,
		Reason: strings.TrimSpace(in.Reason), Change: strings.TrimSpace(in.Change), Override: strings.TrimSpace(in.Override), Resolve: in.Resolve,
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

const (
	// checkWithin bounds a check that a page asks for.
	checkWithin = time.Minute
	// maxChecks bounds the checks that are under way at the same time, maxKept the checks that the
	// server remembers.
	maxChecks = 4
	maxKept   = 1000
)

// Checker checks the world now for an open request. It permits nothing. Its method is called
// concurrently.
type Checker interface {
	// Check returns the report as JSON (safety.Report). needsAgent are the types of entities that
	// only the process of the agent can check, each with the reason.
	Check(ctx context.Context, s record.Session, approvalID string) (report []byte, needsAgent map[string]string, err error)
}

// checks are the checks that pages asked for: those under way, and the last one of each open request.
type checks struct {
	mu    sync.Mutex
	under map[string]bool
	last  map[string]inspect.Checked
}

// begin reports whether a check of the request may begin, and why not.
func (c *checks) begin(id string) (why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.under[id]:
		return "this request is being checked at this moment; wait for its end"
	case len(c.under) >= maxChecks:
		return "other requests are being checked at this moment; try again when they are done"
	}
	c.under[id] = true
	return ""
}

// end keeps the result of a check, if there is one.
func (c *checks) end(id string, found *inspect.Checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.under, id)
	if len(c.last) >= maxKept {
		clear(c.last)
	}
	if found != nil {
		c.last[id] = *found
	}
}

// addTo adds to the open requests of a session the checks that were made here.
func (c *checks) addTo(s *inspect.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range s.Approvals {
		a := &s.Approvals[i]
		if found, ok := c.last[a.ID]; ok && a.ID != "" {
			found.AddTo(a)
		}
	}
}

// check checks the world now for one request. It needs no token: it changes nothing, and tells no more
// than the page shows. A request from another page is refused, because a check asks other systems.
func (h *handler) check(w http.ResponseWriter, r *http.Request) {
	if h.Check == nil {
		fail(w, http.StatusForbidden, "this server cannot check: it serves no journal, or not on loopback")
		return
	}
	if !ownPage(w, r) {
		return
	}
	var in sent
	if err := readObject(http.MaxBytesReader(w, r.Body, maxDecision), &in); err != nil {
		fail(w, http.StatusBadRequest, "the question cannot be read: "+err.Error()+"; send one JSON object")
		return
	}
	key := in.session()
	seen, err := inspect.Look(r.Context(), h.Source, key, h.Now())
	if err != nil && !errors.Is(err, inspect.ErrNotFound) {
		h.failed(w, r, err)
		return
	}
	i := -1
	if err == nil && in.ApprovalID != "" {
		i = slices.IndexFunc(seen.Approvals, func(a inspect.Approval) bool { return a.ID == in.ApprovalID })
	}
	switch {
	case i < 0:
		fail(w, http.StatusNotFound, "the session has no such request: reload the page")
		return
	case !seen.Approvals[i].Status.Open():
		fail(w, http.StatusConflict, "the request has ended, so there is nothing to check: "+seen.Approvals[i].Explanation)
		return
	}
	if why := h.checks.begin(in.ApprovalID); why != "" {
		fail(w, http.StatusTooManyRequests, why)
		return
	}
	var found *inspect.Checked
	defer func() { h.checks.end(in.ApprovalID, found) }()
	ctx, cancel := context.WithTimeout(r.Context(), checkWithin)
	defer cancel()
	report, needs, err := h.Check.Check(ctx, key, in.ApprovalID)
	if err == nil {
		var c inspect.Checked
		if c, err = inspect.NewChecked(report, needs); err == nil {
			found = &c
		}
	}
	if err != nil {
		fail(w, http.StatusBadGateway, err.Error())
		return
	}
	reply(w, found)
}

// inbox lists the open requests of all sessions.
func (h *handler) inbox(w http.ResponseWriter, r *http.Request) {
	sessions, err := inspect.OpenSessions(r.Context(), h.Source, h.Now())
	if err != nil {
		h.failed(w, r, err)
		return
	}
	for _, s := range sessions {
		h.checks.addTo(s)
	}
	reply(w, map[string]any{"items": inspect.Inbox(sessions)})
}
