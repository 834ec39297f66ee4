// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/part"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Question is what a [Checkpoints.Handler] is asked. The fields that Do does not need are empty.
type Question struct {
	// Do is "list", "get", "create", "delete", "rewind", "fork", "export", "import", "plan" or "redo". The last two need
	// the ID of an approval, and no session.
	Do      string `json:"do"`
	App     string `json:"app"`
	User    string `json:"user"`
	Session string `json:"session"`
	// ID is that of the checkpoint, Name the name of a new one.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Keep and DryRun are the options of a rewind.
	Keep   []string `json:"keep,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
	// NewSession is the id of the session that a fork makes.
	NewSession string `json:"new_session,omitempty"`
	// File is what an import reads.
	File json.RawMessage `json:"file,omitempty"`
}

// Reply is what a [Checkpoints.Handler] answers, but for an export: that is answered with the file. Error says why
// nothing was done, and Result may then have the effects.
type Reply struct {
	Checkpoints []Checkpoint    `json:"checkpoints,omitempty"`
	Result      *Result         `json:"result,omitempty"`
	Session     *record.Session `json:"session,omitempty"`
	Plan        *Plan           `json:"plan,omitempty"`
	// Request is the approval that a redo asks for in the place of the first one, "" for none.
	Request string `json:"request,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Handler returns a handler for the commands that take sessions back, and with the runner of the agent for those that do a
// turn again. Mount it behind the login of the program's own
// API: whoever reaches it reads and changes the sessions of every user. It takes a POST with a [Question] as JSON.
func (c *Checkpoints) Handler(runners ...*runner.Runner) http.Handler {
	return part.Post(MaxBytes+1<<20, func(w http.ResponseWriter, r *http.Request, q Question) { c.answer(r.Context(), w, q, runners) })
}

// answer does what a question says.
func (c *Checkpoints) answer(ctx context.Context, w http.ResponseWriter, q Question, runners []*runner.Runner) {
	s := record.Session{App: q.App, User: q.User, ID: q.Session}
	var out Reply
	var err error
	switch q.Do {
	case "list":
		out.Checkpoints, err = c.List(ctx, s)
	case "get":
		out.Checkpoints = make([]Checkpoint, 1)
		out.Checkpoints[0], err = c.Get(ctx, s, q.ID)
	case "create":
		out.Checkpoints = make([]Checkpoint, 1)
		out.Checkpoints[0], err = c.Create(ctx, s, q.Name)
	case "delete":
		err = c.Delete(ctx, s, q.ID)
	case "rewind":
		opts := []RewindOption{Keep(q.Keep...)}
		if q.DryRun {
			opts = append(opts, DryRun())
		}
		var result Result
		result, err = c.Rewind(ctx, s, q.ID, opts...)
		out.Result = &result
	case "fork":
		out.Session = new(record.Session)
		*out.Session, err = c.Fork(ctx, s, q.ID, q.NewSession)
	case "plan", "redo":
		out.Plan = new(Plan)
		*out.Plan, err = c.Plan(ctx, q.ID)
		switch {
		case err != nil || q.Do == "plan":
		case len(runners) == 0:
			err = errors.New("the program mounted this handler without a runner, which sends the messages again")
		default:
			out.Request, err = c.redone(ctx, runners[0], *out.Plan)
		}
	case "import":
		out.Session = new(record.Session)
		*out.Session, err = c.Import(ctx, bytes.NewReader(q.File), s)
	case "export":
		var file bytes.Buffer
		if err = c.Export(ctx, s, q.ID, &file); err == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(file.Bytes()) // whoever asked is gone
			return
		}
	default:
		http.Error(w, "do is list, get, create, delete, rewind, fork, export, import, plan or redo", http.StatusBadRequest)
		return
	}
	status := http.StatusOK
	if err != nil {
		out.Error, out.Checkpoints, out.Session, status = err.Error(), nil, nil, statusOf(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // whoever asked is gone
}

// redone does a turn again, and returns the request that came in the place of the first one.
func (c *Checkpoints) redone(ctx context.Context, r *runner.Runner, plan Plan) (request string, err error) {
	for _, err := range c.Redo(ctx, r, plan) {
		if err != nil {
			return "", err
		}
	}
	all, err := c.approvals(ctx, plan.Session)
	for _, a := range all {
		if a.Replaces == plan.Approval {
			request = a.ID
		}
	}
	return request, err
}

func statusOf(err error) int {
	for _, of := range []struct {
		err    error
		status int
	}{
		{ErrNotFound, http.StatusNotFound},
		{ErrRunning, http.StatusConflict},
		{ErrEffects, http.StatusConflict},
		{ErrForeign, http.StatusConflict},
		{ErrNoPlan, http.StatusConflict},
		{ErrChain, http.StatusConflict},
		{ErrTooEarly, http.StatusUnprocessableEntity},
		{ErrCorrupted, http.StatusUnprocessableEntity},
		{ErrTooLarge, http.StatusRequestEntityTooLarge},
		{contextgraph.ErrDisabled, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, of.err) {
			return of.status
		}
	}
	return http.StatusBadRequest
}
