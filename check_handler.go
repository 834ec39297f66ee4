// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/adk-contextgraph/contextgraph/internal/part"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// maxQuestion bounds the body of a request to the CheckHandler, in bytes.
	maxQuestion = 16 << 10
	// maxHandlerChecks bounds the checks that a CheckHandler makes at the same time.
	maxHandlerChecks = 4
)

// CheckHandler returns a handler that checks the world now for an open request, with the checkers of
// this process. The page of "contextgraph serve --agent-check URL" asks it. Mount it behind the
// authentication of the agent's own API: whoever reaches it learns present values.
//
// It takes a POST with a JSON object, {"app", "user", "session", "approval_id"}, and answers with the
// JSON of the [safety.Report]. It permits nothing, and the check is recorded. The status is 404 for a
// request that the session does not have, 409 for one that has ended, 429 while four checks are under
// way, and 503 if recording is off. The text of the answer then says why.
func (in *Instance) CheckHandler() http.Handler {
	slots := make(chan struct{}, maxHandlerChecks)
	return part.Post(maxQuestion, func(w http.ResponseWriter, r *http.Request, q checkQuestion) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "other requests are being checked at this moment; try again when they are done", http.StatusTooManyRequests)
			return
		}
		in.serveCheck(w, r, q)
	})
}

// checkQuestion is what a CheckHandler is asked.
type checkQuestion struct {
	App        string `json:"app"`
	User       string `json:"user"`
	Session    string `json:"session"`
	ApprovalID string `json:"approval_id"`
}

// serveCheck makes one check.
func (in *Instance) serveCheck(w http.ResponseWriter, r *http.Request, q checkQuestion) {
	if in.guard == nil {
		http.Error(w, ErrDisabled.Error(), http.StatusServiceUnavailable)
		return
	}
	in.used.Store(true)
	s := record.Session{App: q.App, User: q.User, ID: q.Session}
	a, err := safety.Get(r.Context(), in.store.Ledger(), q.ApprovalID)
	switch {
	case errors.Is(err, safety.ErrNotFound), err == nil && a.Session != s:
		http.Error(w, "the session has no such request", http.StatusNotFound)
		return
	case err == nil && !a.State.Open():
		http.Error(w, "the request has ended: "+string(a.State), http.StatusConflict)
		return
	}
	var report safety.Report
	if err == nil {
		report, err = in.guard.Observe(r.Context(), s, a.ID)
	}
	var body []byte
	if err == nil {
		in.gate.RecordCheck(r.Context(), s, report, a)
		body, err = json.Marshal(report)
	}
	if err != nil {
		in.log.Warn("contextgraph: a check for the page could not be made", "session", s.ID, "approval", q.ApprovalID, "error", err)
		http.Error(w, "the check could not be made; the log of the agent says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // whoever asked is gone
}
