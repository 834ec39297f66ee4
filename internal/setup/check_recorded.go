// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// RecordedCheck is a check of a session that was made from its journal alone.
type RecordedCheck struct {
	Report safety.Report
	// Approval is the request that was checked, as the ledger has it after the check; nil
	// where the session has none.
	Approval *safety.Approval
	// NeedsAgent are the types of entities that only the process of the agent can check, each with
	// the reason. An action that rests on such an entity is not safe by this check.
	NeedsAgent map[string]string
}

// CheckRecorded checks the world now for a session in j, with the checkers over HTTP that cfg
// declares. It runs in any process. Repeated calls, databases and checkers in Go exist only in the
// process of the agent. An entity that needs one of them fails its check, also if cfg calls the
// type optional: the report is never safe unless it is complete.
//
// approvalID names the request to check. Without one it is the latest open request of the session,
// else the latest, else everything that the session rests on. An approval that the session does not
// have is a [safety.ErrNotFound].
//
// It changes nothing, and permits nothing.
func CheckRecorded(ctx context.Context, cfg config.Config, j store.Store, s record.Session, approvalID string) (RecordedCheck, error) {
	extractor, err := Extractor(cfg)
	if err != nil {
		return RecordedCheck{}, err
	}
	ledger := readOnly{j.Ledger()}
	approvals, err := ledger.List(ctx, safety.Query{Session: s})
	if err != nil {
		return RecordedCheck{}, err
	}
	// No run is known to be under way here: one without its end is a gap.
	sessions := graphsync.NewSessions(j, extractor)
	ev := NewEvidence(sessions, j, Program{Now: time.Now})
	types, err := typesOf(ctx, sessions, s, approvals)
	if err != nil {
		return RecordedCheck{}, err
	}
	checkers, needs, err := checkersHere(cfg, types)
	if err != nil {
		return RecordedCheck{}, err
	}
	guard, err := safety.NewGuard(safety.GuardConfig{Ledger: ledger, Evidence: ev, Checkers: checkers, Policy: cfg.Guard})
	if err != nil {
		return RecordedCheck{}, err
	}
	out := RecordedCheck{NeedsAgent: needs}
	if approvalID == "" {
		approvalID = latest(approvals)
	}
	if approvalID == "" {
		out.Report, err = guard.Check(ctx, s)
		return out, err
	}
	if out.Report, err = guard.Observe(ctx, s, approvalID); err != nil {
		return RecordedCheck{}, err
	}
	a, err := safety.Get(ctx, ledger, approvalID) // an answer may have come meanwhile
	if err != nil {
		return RecordedCheck{}, err
	}
	out.Approval = &a
	return out, nil
}

// RecordedChecker makes the check of [CheckRecorded] for one request after the other.
type RecordedChecker struct {
	Config  config.Config
	Journal store.Store
}

// Check returns the report as JSON, and the types of entities that only the process of the agent can
// check.
func (c RecordedChecker) Check(ctx context.Context, s record.Session, approvalID string) ([]byte, map[string]string, error) {
	found, err := CheckRecorded(ctx, c.Config, c.Journal, s, approvalID)
	if err != nil {
		return nil, nil, err
	}
	report, err := json.Marshal(found.Report)
	return report, found.NeedsAgent, err
}

// latest returns the id of the approval that is asked about when none is named.
func latest(approvals []safety.Approval) string {
	var id string
	open := false
	for _, a := range approvals {
		if a.State.Open() || !open {
			id, open = a.ID, a.State.Open()
		}
	}
	return id
}

// typesOf returns the types of all entities that a check of the session may look at.
func typesOf(ctx context.Context, sessions *graphsync.Sessions, s record.Session, approvals []safety.Approval) ([]string, error) {
	sel, err := sessions.Select(ctx, s, record.Decision{})
	if err != nil {
		return nil, err
	}
	types := make(map[string]bool)
	for _, e := range sel.Entities {
		types[e.Type] = true
	}
	for _, a := range approvals {
		for _, e := range a.Entities {
			types[e.Type] = true
		}
	}
	return slices.Sorted(maps.Keys(types)), nil
}

// checkersHere returns the checkers of the types: those that can be asked from this process,
// and in the place of the others one that says so, with the reason.
func checkersHere(c config.Config, types []string) (map[string]safety.Checker, map[string]string, error) {
	why := make(map[string]string)
	here := c
	here.Checkers = nil
	for _, cc := range c.Checkers {
		if why[cc.Type] = NeedsAgent(cc); why[cc.Type] == "" {
			here.Checkers = append(here.Checkers, cc)
		}
	}
	checkers, err := Checkers(here, Code{})
	if err != nil {
		return nil, nil, err
	}
	needs := make(map[string]string)
	for _, t := range types {
		if checkers[t] != nil {
			continue
		}
		reason := why[t]
		switch {
		case reason != "":
		case isSet(t):
			reason = "its tool is called again"
		case len(c.Checkers)+len(c.Extract) == 0:
			reason = "no configuration with a checker for it was given, and one in Go would be there only"
		default:
			reason = "the configuration declares no checker for it, and one in Go would be there only"
		}
		needs[t] = reason
		checkers[t] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{}, &safety.AnswerError{
				Reason: safety.ReasonNeedsAgent, Err: errors.New("only the process of the agent can check it: " + reason),
			}
		})
	}
	return checkers, needs, nil
}

func isSet(typ string) bool {
	_, is := entity.ElementOf(typ)
	return is
}

// NeedsAgent says why only the process of the agent can ask a checker, "" if any process can.
func NeedsAgent(c config.Checker) string {
	switch {
	case c.Replay != nil:
		return "its checker calls a tool of the agent again"
	case c.SQL != nil:
		return fmt.Sprintf("its checker asks the database %q, which the program of the agent opens", c.SQL.Database)
	default:
		return ""
	}
}

// readOnly is a ledger that nothing can be done to.
type readOnly struct{ safety.Ledger }

var errReadOnly = errors.New("contextgraph: the ledger is open for reading only")

func (readOnly) Create(context.Context, safety.Approval) error { return errReadOnly }

func (readOnly) Attach(context.Context, string, string) error { return errReadOnly }

func (readOnly) Transition(context.Context, safety.Transition) (safety.Approval, error) {
	return safety.Approval{}, errReadOnly
}
