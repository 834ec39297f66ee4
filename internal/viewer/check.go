// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
	if c.under == nil {
		c.under = make(map[string]bool)
	}
	c.under[id] = true
	return ""
}

// end keeps the result of a check, if there is one.
func (c *checks) end(id string, found *inspect.Checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.under, id)
	if found == nil {
		return
	}
	if c.last == nil || len(c.last) >= maxKept {
		c.last = make(map[string]inspect.Checked)
	}
	c.last[id] = *found
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
	var in struct {
		App        string `json:"app"`
		User       string `json:"user"`
		Session    string `json:"session"`
		ApprovalID string `json:"approval_id"`
	}
	if err := readObject(http.MaxBytesReader(w, r.Body, maxDecision), &in); err != nil {
		fail(w, http.StatusBadRequest, "the question cannot be read: "+err.Error()+"; send one JSON object")
		return
	}
	key := record.Session{App: in.App, User: in.User, ID: in.Session}
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
