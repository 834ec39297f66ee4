// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// ErrDisabled is returned by methods that need the journal while recording is off.
var ErrDisabled = errors.New("contextgraph: recording is off (enabled: false); there is no journal to read")

// Instance is contextgraph at work: the plugins, the gate and the journal they
// share. One Instance serves any number of runners of a process. Its methods are
// safe for concurrent use.
type Instance struct {
	cfg     Config // with its defaults
	code    settings
	log     *slog.Logger
	rec     *cgplugin.Recorder
	gate    *gate.Gate
	store   store.Store
	journal *journal.Journal // the store, unless it is another one
	// sessions makes the graph and the evidence of decisions of the rows; nil when recording is off.
	sessions *graphsync.Sessions
	guard    *safety.Guard
	// parts stores large and binary parts; nil when they are not kept.
	parts *offload.Uploader
	// warehouse is the connection to the dataset; nil without one.
	warehouse    warehouse.Connection
	registration metric.Registration
	// first and last are the plugins of each runner; first is nil when recording is off.
	first, last *plugin.Plugin

	// used says that somebody took the plugins, or asked about the record.
	used      atomic.Bool
	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error
}

// Open opens the journal and returns an Instance. Everything in cfg is checked
// first, so that a mistake shows before any agent runs. The caller closes the
// Instance; ADK never does. ctx bounds the opening only.
func Open(ctx context.Context, cfg Config, opts ...Option) (*Instance, error) {
	if err := cfg.Check(setup.Checks()...); err != nil {
		return nil, err
	}
	return open(ctx, cfg, opts)
}

// FromFile reads the configuration file at path and puts the environment over it, as [config.Load]
// does. It then opens it as [Open] does, with the same checks: a mistake shows with its line.
func FromFile(path string, opts ...Option) (*Instance, error) {
	cfg, err := setup.Load(path)
	if err != nil {
		return nil, err
	}
	return open(context.Background(), cfg, opts)
}

// open opens a configuration that was checked.
func open(ctx context.Context, cfg Config, opts []Option) (*Instance, error) {
	in := &Instance{cfg: cfg.WithDefaults(), closed: make(chan struct{})}
	for _, o := range opts {
		o(&in.code)
	}
	if err := in.code.check(); err != nil {
		return nil, err
	}
	if in.log = in.code.log; in.log == nil {
		in.log = slog.Default()
	}
	if err := in.checkPeople(); err != nil {
		return nil, err
	}
	rc := cgplugin.Config{
		Record: in.cfg.Record, Logger: in.log, Now: in.code.Now,
		Options: cgplugin.Options{Format: in.code.format, Classify: in.code.classify, IsApproval: schema.IsApproval},
	}
	gc := gate.Config{Settings: in.cfg.Guard, Named: named(in.cfg), Readings: readings(in.cfg), Logger: in.log, Now: in.code.Now}
	if cfg.Guard.Mode != config.ModeObserve {
		gc.Covered, gc.Counted = setup.Covered(cfg), setup.Counted(cfg)
	}
	gc.Replayed = setup.Replayed(cfg, in.code.Checkers)
	if !*in.cfg.Enabled {
		if err := in.wire(rc, gc); err != nil {
			return nil, err
		}
		in.log.Warn("contextgraph: recording is off; guarded tools are denied until it is on again")
		return in, nil
	}
	if err := in.start(ctx, rc, gc); err != nil {
		return nil, err
	}
	in.announce()
	for _, p := range setup.Advice(cfg, slices.Collect(maps.Keys(in.code.Checkers))) {
		in.log.Warn("contextgraph: " + p.Path + ": " + p.Text + "; " + p.Remedy)
	}
	return in, nil
}

func (in *Instance) start(ctx context.Context, rc cgplugin.Config, gc gate.Config) error {
	extractor, err := setup.Extractor(in.cfg)
	if err != nil {
		return err
	}
	rc.Options.ArgsAtEnd = extractor.ArgsAtEnd
	checkers, err := setup.Checkers(in.cfg, in.code.Code)
	if err != nil {
		return err
	}
	if err := in.openStore(ctx); err != nil {
		return err
	}
	for _, fault := range setup.Unprepared(ctx, checkers) {
		in.log.Warn("contextgraph: " + fault)
	}
	in.sessions = graphsync.NewSessions(in.store, extractor)
	now := in.code.Now
	if now == nil {
		now = time.Now
	}
	setup.AddReplays(checkers, in.cfg, in.sessions, now, func() setup.Caller { return in.gate })
	in.guard, err = safety.NewGuard(safety.GuardConfig{
		Ledger: in.store.Ledger(), Checkers: checkers, Policy: in.cfg.Guard,
		Evidence: setup.NewEvidence(in.sessions, in.store, setup.Program{
			Now: now, Idle: setup.LogIdle(in.log),
			// The recorder and the gate are made after the guard.
			Running: func(s record.Session) []string { return in.rec.Running(s) },
			Gaps:    func() []string { return in.rec.Gaps() },
			Notes:   func() []string { return in.gate.Notes() },
			Give:    func(ctx context.Context, list []record.Shown) []record.Shown { return in.rec.Give(ctx, list) },
			Close: func(ctx context.Context, runs map[string]record.Turn) map[string]string {
				return in.rec.Close(ctx, runs)
			},
		}),
		Identity: in.identity(), Authorizer: in.code.authorize, Now: in.code.Now,
		Running: in.running,
	})
	if err == nil {
		err = setup.StoreRules(ctx, in.store, extractor)
	}
	if err == nil {
		in.parts, err = setup.OpenParts(ctx, in.cfg, in.log)
	}
	if err == nil {
		err = in.connect(ctx)
	}
	if err == nil {
		rc.Sink, rc.Secret, gc.Guard = in.store, in.store.Secret(), in.guard
		rc.Options.RunEnded = in.runEnded()
		if in.parts != nil {
			rc.Options.Offload = in.parts
		}
		err = in.wire(rc, gc)
	}
	if err == nil {
		err = in.measure()
	}
	if err != nil {
		return errors.Join(err, in.shut(ctx))
	}
	return nil
}

// running reports whether a run is under way here, or, if the store knows, on another replica.
func (in *Instance) running(s record.Session, run string) bool {
	shared, is := in.store.(interface {
		Running(of record.Session, run string) bool
	})
	return slices.Contains(in.rec.Running(s), run) || is && shared.Running(s, run)
}

// openStore opens the journal of the configuration, unless ctx brings another store.
func (in *Instance) openStore(ctx context.Context) error {
	if in.store = store.From(ctx); in.store != nil {
		return nil
	}
	destinations, err := in.destinations()
	if err != nil {
		return err
	}
	if place := in.cfg.Store.Postgres; place.DSN != "" {
		if in.code.database == nil {
			return place.Fault("the program has no client for PostgreSQL",
				"import github.com/adk-contextgraph/contextgraph/pgstore and give pgstore.Option(), or remove the section store")
		}
		in.store, err = in.code.database.OpenStore(ctx, in.cfg, in.log, in.code.Now, destinations)
		return err
	}
	cfg := journal.Config{Journal: in.cfg.Journal, Logger: in.log, Now: in.code.Now, Destinations: destinations}
	if in.journal, err = journal.Open(ctx, cfg); err != nil {
		return err
	}
	in.store = in.journal
	return nil
}

// wire makes the recorder, the gate, and their two plugins.
func (in *Instance) wire(rc cgplugin.Config, gc gate.Config) (err error) {
	if in.rec, err = cgplugin.New(rc); err != nil {
		return err
	}
	gc.Recorder = in.rec
	if in.gate, err = gate.New(gc); err != nil {
		return err
	}
	in.first, in.last, err = in.gate.Plugins()
	return err
}

// announce logs where the record is, and whether approvers are authenticated. The gate logs the
// tools that it guards when it meets them.
func (in *Instance) announce() {
	requesters, approvers := in.people()
	in.log.Info("contextgraph: recording", "store", in.store.Name(), "journal", in.JournalPath(), "requesters", requesters, "approvers", approvers)
	if in.cfg.Guard.Mode == config.ModeObserve {
		in.log.Info("contextgraph: guard.mode is observe: verdicts are recorded, and nothing is blocked except tools wrapped by Protect")
	}
}

// PluginConfig returns what a runner or a launcher takes as its PluginConfig:
// the first plugin with recorder and gate, then the others, then the last plugin with
// the gate. The order matters, so give other plugins here and do not add them to the
// result. It may be called for any number of runners.
func (in *Instance) PluginConfig(others ...*plugin.Plugin) runner.PluginConfig {
	in.used.Store(true)
	plugins := make([]*plugin.Plugin, 0, len(others)+2)
	if in.first != nil {
		plugins = append(plugins, in.first)
	}
	plugins = append(plugins, others...)
	return runner.PluginConfig{Plugins: append(plugins, in.last)}
}

// Run runs the agent exactly as r.Run does. It also records what only the consumer of a
// run learns: the errors of agents and of workflow nodes, and whether the consumer
// stopped before the end. r must have the plugins of PluginConfig.
func (in *Instance) Run(ctx context.Context, r *runner.Runner, userID, sessionID string, msg *genai.Content, cfg agent.RunConfig, opts ...runner.RunOption) iter.Seq2[*session.Event, error] {
	return in.rec.Run(ctx, r, userID, sessionID, msg, cfg, opts...)
}

// AgentTool returns a tool that runs the agent, in the place of agenttool.New(a, cfg):
// the same tool, but the steps of the agent are recorded, below the tool call and in a
// session of its own. Guarded tools inside are denied: nobody can be asked there. The results
// that the agent read count as read by its caller. Where a tool of the host runs the agent several
// times in one call, the last run counts.
func (in *Instance) AgentTool(a agent.Agent, cfg *agenttool.Config) tool.Tool {
	return in.rec.AgentTool(a, cfg, in.PluginConfig())
}

// SpanProcessor returns a processor for the tracer provider of the process. With it ADK's spans of
// model calls lead to their rows and back. Those of agents and tools do so without it; see
// [cgplugin.SpanAttributes]. It starts and exports no spans. It also sees guarded tools that run in
// a runner without the plugins, and logs each once.
func (in *Instance) SpanProcessor() sdktrace.SpanProcessor {
	return in.rec.SpanProcessor(in.gate.Outside)
}

// RecordEntity declares entities that the running tool evaluated. ctx is the context that the tool
// was given. The entities stand in a row of their own on the span of the call, and count when the
// call has ended well. A Confidence of zero counts as 1. If the value is an amount of money, set
// Norm, so that every spelling of it is one entity.
//
// RecordEntity waits until the row is in the journal: declare what a call evaluated at once, not one
// by one. An error says why the row is not there. If the journal cannot be written just then, the
// row may still get there later.
//
// The error is ErrNoCall of package plugin outside of a recorded tool call. No entity is declared if
// the limits of a row would cut one of them, or if an attribute has the name of a secret: the record
// would differ from the tool's entity. If one call declares an entity twice with contradicting
// values, the check fails.
func (in *Instance) RecordEntity(ctx agent.Context, es ...entity.Entity) error {
	return in.rec.RecordEntity(ctx, es...)
}

// Check checks the world now for the session's latest open request for approval. If none is open,
// it checks all entities of the session; a rule of guard.budgets that needs the arguments of an
// action then fails the check. It permits nothing: the gate checks again before an action runs. The
// verdict is recorded.
func (in *Instance) Check(ctx context.Context, s record.Session) (safety.Report, error) {
	if in.guard == nil {
		return safety.Report{}, ErrDisabled
	}
	in.used.Store(true)
	report, err := in.guard.Check(ctx, s)
	in.gate.RecordCheck(ctx, s, report, safety.Approval{})
	return report, err
}

// Graph returns the graph of the session as it is now, with all that was recorded before the call. It
// reads all rows of the session.
func (in *Instance) Graph(ctx context.Context, s record.Session) (*graphsync.Graph, error) {
	if in.sessions == nil {
		return nil, ErrDisabled
	}
	in.used.Store(true)
	folded, err := in.sessions.Fold(ctx, s)
	if err != nil {
		return nil, err
	}
	return folded.Graph(), nil
}

// Why returns what the session's latest approval request rests on: each entity with one
// shortest path to the request from the result that showed it, as [graphsync.Graph.Why] does.
func (in *Instance) Why(ctx context.Context, s record.Session) ([]graphsync.Reason, error) {
	g, err := in.Graph(ctx, s)
	if err != nil {
		return nil, err
	}
	decision, ok := g.Decision()
	if !ok {
		return nil, fmt.Errorf("contextgraph: session %q of user %q in app %q has no approval request", s.ID, s.User, s.App)
	}
	return g.Why(decision)
}

// Approvals returns the approval requests of the session, oldest first.
func (in *Instance) Approvals(ctx context.Context, s record.Session) ([]safety.Approval, error) {
	if in.store == nil {
		return nil, ErrDisabled
	}
	in.used.Store(true)
	return in.store.Ledger().List(ctx, safety.Query{Session: s})
}

// JournalPath returns the file of the journal; "" when recording is off, and with a database in its place.
func (in *Instance) JournalPath() string {
	if in.journal == nil {
		return ""
	}
	return in.journal.Path()
}

// Flush waits until everything recorded before the call is on disk, and every part
// in its store.
func (in *Instance) Flush(ctx context.Context) error {
	if in.store == nil {
		return nil
	}
	return errors.Join(in.flush(ctx, func(context.Context) error { return nil }))
}

// Close writes the queued rows, sends BigQuery the rows that it lacks, and closes the journal,
// within ctx. BigQuery gets three quarters of that time, or bigquery.stream.flush_timeout if ctx
// has no deadline; the remaining rows are sent after the next start. Guarded tools deny from the
// call on; it waits for those that run, for up to half of the time. Further calls wait for the first and return its result.
func (in *Instance) Close(ctx context.Context) error {
	in.closeOnce.Do(func() {
		defer close(in.closed)
		in.gate.Close()
		in.waitForEffects(ctx)
		if in.store != nil && !in.used.Load() {
			in.log.Warn("contextgraph: nothing was recorded or guarded, because no runner got the plugins; give each runner PluginConfig: cg.PluginConfig()")
		}
		in.closeErr = in.shut(ctx)
	})
	select {
	case <-in.closed:
		return in.closeErr
	case <-ctx.Done():
	}
	select {
	case <-in.closed: // at the same time: the loss matters more than the reason
		return in.closeErr
	default:
		return ctx.Err()
	}
}

// waitForEffects waits for approved calls that run: for half of the time that ctx leaves, if it has an end.
func (in *Instance) waitForEffects(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	in.gate.Wait(ctx)
}

// shut ends the parts that Open started. The journal comes last: it records the losses of the
// others.
func (in *Instance) shut(ctx context.Context) (err error) {
	if in.registration != nil {
		err = in.registration.Unregister()
	}
	// At the same time: a store of parts that hangs keeps no row from being sent.
	var drained error
	var sending sync.WaitGroup
	sending.Go(func() { drained = in.drain(ctx) })
	if in.parts != nil {
		err = errors.Join(err, in.parts.Close(ctx))
	}
	sending.Wait()
	err = errors.Join(err, drained)
	if in.store != nil {
		err = errors.Join(err, in.store.Close(ctx))
	}
	return err
}
