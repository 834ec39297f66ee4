// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/part"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Config configures the record, the gate and the checks of the world; see package config.
type Config = config.Config

// Option gives an Instance what no file can hold.
type Option func(*settings)

// settings are what options give.
type settings struct {
	setup.Code
	identity  func(context.Context) (string, error)
	authorize safety.Authorizer
	format    func(eventType string, content []byte) ([]byte, error)
	classify  func(t tool.Tool, args, result map[string]any) error
	meters    metric.MeterProvider
	log       *slog.Logger
	open      warehouse.Opener
	database  opener
	part      Part
}

// WithLogger sends what an operator should know to l. Defaults to [slog.Default].
func WithLogger(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

// WithIdentity lets who name the authenticated person that a context belongs to. The context is that
// of the run: of the HTTP request, for an agent behind ADK's REST server. An error or an empty name
// means that nobody was authenticated.
//
// The person is the requester of each approval that a run asks for, and the approver of each answer
// that a run brings. The two have to be different people, unless guard.self_approval allows it. Names
// are compared without regard to case, space and the width of characters. A request of somebody
// unknown is recorded as not authenticated, and needs the approval of two people, unless
// guard.self_approval is true; so a job of cron, or a caller over A2A, needs the name of a service. An
// answer of somebody unknown is refused.
//
// Without this option ADK's user id is the requester. It is the word of a client, so nothing shows
// that two people are at work: the log, the hint, each report and the page say so.
func WithIdentity(who func(ctx context.Context) (string, error)) Option {
	if who == nil {
		who = func(context.Context) (string, error) { return "", errors.New("WithIdentity got nil") }
	}
	return func(s *settings) { s.identity = who }
}

// WithAuthorizer lets a decide who answers a request for an approval, and whether this person may.
// a learns that from the context of the run, which has the host's authentication, or for a peer
// agent from the call context of A2A. A nil a refuses everybody: a host that gives this option does
// not mean to do without an authorizer. With [WithIdentity], a also gets the name of who answers.
//
// Without this option, whoever WithIdentity names may approve what others asked for. Without both,
// whoever can send a message as the user of a session approves the requests of that session. No peer
// agent approves without an authorizer. The log says so at the start, and so does the record of each
// approval.
func WithAuthorizer(a safety.Authorizer) Option {
	if a == nil {
		a = safety.AuthorizerFunc(nil)
	}
	return func(s *settings) { s.authorize = a }
}

// WithChecker checks entities of the given type with c, in place of a checker of
// the configuration. It is called by several goroutines at once.
func WithChecker(entityType string, c safety.Checker) Option {
	return func(s *settings) {
		if s.Checkers == nil {
			s.Checkers = make(map[string]safety.Checker)
		}
		s.Checkers[entityType] = c
	}
}

// WithDatabase lets checkers of the configuration ask db under the given name
// (checkers[].sql.database). A *sql.DB is one. Closing it is left to the caller, after
// the Instance is closed.
func WithDatabase(name string, db Querier) Option {
	return func(s *settings) {
		if s.Databases == nil {
			s.Databases = make(map[string]source.Querier)
		}
		s.Databases[name] = db
	}
}

// WithFormatter puts the content of every row through f before it is written. f gets the type of
// the event and the content as JSON, which it must not keep. It returns the JSON that is written
// instead, within the same limits and redaction. If f fails, a mark takes the place of the content.
// The other copies of the content as text in a row are left out in any case; docs/row-contract.md
// lists them. f is called by several goroutines at once.
func WithFormatter(f func(eventType string, content []byte) ([]byte, error)) Option {
	return func(s *settings) { s.format = f }
}

// WithClassifier lets f look at the results of tools: an error it returns makes the call a
// TOOL_ERROR with that message. It is called by several goroutines at once. Without it a
// result is an error where it says so itself.
func WithClassifier(f func(t tool.Tool, args, result map[string]any) error) Option {
	return func(s *settings) { s.classify = f }
}

// WithMeterProvider makes the instruments with p: they count the rows that are recorded, dropped
// and lost. Defaults to the global provider of OpenTelemetry.
func WithMeterProvider(p metric.MeterProvider) Option { return func(s *settings) { s.meters = p } }

// WithClock takes the time from now, for tests of a host. Defaults to [time.Now].
func WithClock(now func() time.Time) Option { return func(s *settings) { s.Now = now } }

// Part is an optional part of contextgraph, such as package bqstream. Its package makes an Option
// of it.
type Part interface {
	// Name returns the name of the package.
	Name() string
}

// opener opens a store that is no journal: package pgstore has one. The destinations are those of [Instance.destinations].
type opener interface {
	OpenStore(ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time, destinations []string) (store.Store, error)
}

// WithPart adds an optional part. It is for the packages that have one: use their options.
func WithPart(p Part) Option {
	return func(s *settings) {
		switch p := p.(type) {
		case warehouse.Opener:
			s.open = p
		case opener:
			s.database = p
		default:
			s.part = p
		}
	}
}

// Attach gives an optional part what it works on. It is for the packages that have one, such as package checkpoint:
// use what they return. A part of no package of this module gets nothing.
func (in *Instance) Attach(p Part) {
	guest, ok := p.(part.Guest)
	if !ok {
		return
	}
	in.used.Store(true)
	guest.Attach(part.Host{
		Store: in.store, Recorder: in.rec, Replayable: in.gate.IsReplayable, Guarded: in.gate.Guards, OfferRedo: in.gate.OfferRedo,
		Who: func(ctx context.Context, s record.Session) (string, bool) {
			if who := in.identity(); who != nil {
				if name, err := who(ctx); err == nil && name != "" {
					return name, true
				}
			}
			return s.User, false
		},
	})
}

// check reports options that cannot be used.
func (s *settings) check() error {
	if s.part != nil {
		return fmt.Errorf("contextgraph: WithPart: %q is no part of this version; use the option of an optional package of this module, such as bqstream.Option()", s.part.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(s.Checkers)) {
		if err := (entity.Entity{Type: name, Value: "x"}).Validate(); err != nil {
			return fmt.Errorf("contextgraph: WithChecker: %q is not a type: %w; write a type of entity, for example Product", name, err)
		}
		if s.Checkers[name] == nil {
			return fmt.Errorf("contextgraph: WithChecker: the checker of %q is nil; give a checker, or leave the option out", name)
		}
	}
	return nil
}
