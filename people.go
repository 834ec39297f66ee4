// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
)

// checkPeople reports an approval that needs people whom the program does not know.
func (in *Instance) checkPeople() error {
	if in.code.identity != nil || in.code.authorize != nil {
		return nil
	}
	asks := func(key, name string) error {
		return fmt.Errorf("contextgraph: %s asks for people by name to approve %s, and this program names nobody; give Open WithIdentity, or WithAuthorizer", key, config.Quote(name))
	}
	for _, name := range slices.Sorted(maps.Keys(in.cfg.Guard.Tools)) {
		if t := in.cfg.Guard.Tools[name]; t.Approvers > 1 || len(t.Override) > 0 {
			return asks("guard.tools", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.cfg.Guard.Inputs)) {
		if in.cfg.Guard.Inputs[name].Approvers > 1 {
			return asks("guard.inputs", name)
		}
	}
	return nil
}

// people says how the program knows who asks and who approves.
func (in *Instance) people() (requesters, approvers string) {
	requesters = "not authenticated: the user id of a session is the word of a client, so one person may ask as another and approve; WithIdentity names requesters"
	approvers = "not authenticated: whoever can send a message as the user of a session approves its requests; WithIdentity or WithAuthorizer names approvers"
	if in.code.identity != nil {
		requesters, approvers = "named by the identity", "named by the identity"
		if !in.cfg.Guard.SelfApproval {
			requesters += "; two people have to approve what nobody is named for, so jobs of cron and callers over A2A need a service identity"
		}
	}
	if in.code.authorize != nil {
		approvers = "named by the authorizer"
	}
	return requesters, approvers
}

// identity returns the function of WithIdentity, which logs its errors; nil without one.
func (in *Instance) identity() func(context.Context) (string, error) {
	who := in.code.identity
	if who == nil {
		return nil
	}
	log := slog.New(ratelog.NewHandler(in.log.Handler(), 0, nil))
	return func(ctx context.Context) (string, error) {
		name, err := who(ctx)
		if err != nil {
			log.Warn("contextgraph: WithIdentity names nobody: a request is recorded as not authenticated, and an answer is refused", "error", err)
		}
		return name, err
	}
}
