// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// gateName is the name of the gate's plugin as the runner knows it.
const gateName = "contextgraph_gate"

// Config says what a [Gate] guards.
type Config struct {
	// Recorder records the runs that the gate stands in. Its Options.IsApproval has to name
	// the rows of approvals. Required.
	Recorder *plugin.Recorder
	// Guard decides. Nil denies every guarded call.
	Guard *safety.Guard
	// Settings name the tools and the inputs that need an approval, and the effect of a tool that
	// cannot be guarded. The gate asks for the approval if the tool does not. The other settings
	// are for the Guard, see [safety.GuardConfig].
	Settings config.Guard
	// Named are the parts of the configuration that name tools, besides Settings: the log names
	// those that no known tool has.
	Named []Named
	// Covered are the names of the tools with a rule about their arguments. Their confirmations are
	// enforced, not only observed.
	Covered []string
	// Counted has the rules by which all names in the results of a tool count, by the name of the tool: it has to be
	// registered with Replayable.
	Counted map[string]string
	// Replayed has the types whose checker calls a tool again, by the name of the tool: the log names those that are
	// not registered with Replayable.
	Replayed map[string]string
	// Readings are the paths of the configuration into the arguments of tools: the log names those that a tool does not
	// declare.
	Readings []Reading
	// Logger takes what has no other place. Defaults to slog.Default().
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Gate stands before guarded tools and guarded inputs. It is safe for concurrent use by any
// number of runners.
type Gate struct {
	rec   *plugin.Recorder
	guard *safety.Guard
	log   *slog.Logger
	// often is the log for events that may come with every request: one line per kind and minute.
	often *slog.Logger
	now   func() time.Time

	settings        config.Guard
	listed, inputs  toolNames
	covered         map[string]bool
	counted         map[string]string
	replayed        map[string]string
	readings        []Reading
	refuseUnguarded bool
	// unguarded counts what the gate should guard and cannot.
	unguarded atomic.Uint64
	// observing says that verdicts are recorded and block nothing but protected tools.
	observing bool
	named     []Named
	census    *census
	// told holds what a line of the log was given for: see once.
	told sync.Map

	locks  sessionLocks
	panics atomic.Uint64
	closed atomic.Bool
	// redo says that a turn can be done again whose approved call met drift.
	redo atomic.Bool
	// effects counts protected tools that run, for at most effectTimeout.
	effects       atomic.Int64
	effectTimeout time.Duration

	mu        sync.Mutex
	protected map[string]bool
	// replayable holds the tools that a check may call again, by name. observers holds the
	// tools around them that note their reads. replays says that there are any.
	replayable map[string]tool.Tool
	observers  map[string]*observed
	replays    atomic.Bool
	// questions are the confirmations of tools that ask by themselves, by approval.
	questions *lru.Cache[string, toolconfirmation.ToolConfirmation]
	turns     *lru.Cache[turnKey, *turn]
}

// New returns a Gate.
func New(cfg Config) (*Gate, error) {
	g := &Gate{
		rec: cfg.Recorder, settings: cfg.Settings, guard: cfg.Guard, now: cfg.Now, refuseUnguarded: cfg.Settings.Unguarded == config.UnguardedError,
		observing: cfg.Settings.Mode == config.ModeObserve, named: slices.Clone(cfg.Named), counted: maps.Clone(cfg.Counted), replayed: maps.Clone(cfg.Replayed), readings: slices.Clone(cfg.Readings),
		covered: make(map[string]bool, len(cfg.Covered)), protected: make(map[string]bool),
		replayable: make(map[string]tool.Tool), observers: make(map[string]*observed),
	}
	if g.effectTimeout = cfg.Settings.EffectTimeout; g.effectTimeout == 0 {
		g.effectTimeout = config.Config{}.WithDefaults().Guard.EffectTimeout
	}
	for _, name := range cfg.Covered {
		g.covered[name] = true
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.Default()
	}
	g.log = slog.New(ratelog.Contain(logger.Handler()))
	g.often = slog.New(ratelog.NewHandler(g.log.Handler(), 0, nil))
	if g.now == nil {
		g.now = time.Now
	}
	var err error
	if g.listed, err = newToolNames(maps.Keys(cfg.Settings.Tools)); err != nil {
		return nil, err
	}
	if g.inputs, err = newToolNames(maps.Keys(cfg.Settings.Inputs)); err != nil {
		return nil, err
	}
	for _, p := range g.listed.all() {
		g.named = append(g.named, Named{Key: keyTools, Tool: string(p), Without: "it guards nothing"})
	}
	if g.census, err = newCensus(); err != nil {
		return nil, err
	}
	if g.questions, err = lru.New[string, toolconfirmation.ToolConfirmation](knownQuestions); err != nil {
		return nil, err
	}
	if g.turns, err = lru.New[turnKey, *turn](knownTurns); err != nil {
		return nil, err
	}
	return g, nil
}

// knownQuestions bounds how many confirmations of tools are remembered.
const knownQuestions = 1000

// Close makes the gate deny every guarded tool and every guarded input from now on.
func (g *Gate) Close() { g.closed.Store(true) }

// Wait waits until no protected tool runs, within ctx.
func (g *Gate) Wait(ctx context.Context) {
	for g.effects.Load() > 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			g.log.Error("contextgraph: an approved call still runs; its approval stays in doubt until a person resolves it")
			return
		}
	}
}

// Stats counts what a Gate did since it was made.
type Stats struct {
	// Unguarded counts the tools that the gate is meant to guard and cannot, and the names in
	// guard.tools and guard.inputs that nothing known has, each once.
	Unguarded uint64
	// Panics counts panics that the gate recovered while it decided; nothing guarded passed
	// then. Panics in an observing callback count in the recorder.
	Panics uint64
}

// Stats returns the counters. It may be called at any time.
func (g *Gate) Stats() Stats {
	return Stats{Unguarded: g.unguarded.Load(), Panics: g.panics.Load()}
}

// enforced reports whether calls of tools of that name are enforced, and whether
// each needs an approval. Only the confirmations of a covered tool are enforced: it
// decides itself which of its calls need one.
func (g *Gate) enforced(name string) (enforced, always bool) {
	always = g.listed.match(name) || g.isProtected(name)
	return always || g.covered[name], always
}

// once reports whether the log has no line for a key yet, and notes that it gets one.
func (g *Gate) once(key any) bool {
	_, told := g.told.LoadOrStore(key, true)
	return !told
}

// tellUnread warns once of a guarded tool whose arguments no rule reads. Of names in guard.tools others tell.
func (g *Gate) tellUnread(name string) {
	if g.covered[name] || g.listed.names[name] || !g.settings.NamesThings(name) {
		return
	}
	if g.once("unread " + name) {
		g.log.Warn("contextgraph: no rule with in: action reads the arguments of a guarded tool, so each of its calls fails its check; add one, or write acts_on: nothing in guard.tools if a call names nothing", "tool", name)
	}
}

// Guards reports whether no call of a tool of that name runs without an approval.
func (g *Gate) Guards(name string) bool {
	return g.isProtected(name) || g.listed.match(name) && !g.observing && g.guard != nil
}

// OfferRedo has refusals and checks say that a turn can be done again whose approved call met drift.
func (g *Gate) OfferRedo() { g.redo.Store(!g.observing) }

// isProtected reports whether Protect guards every tool of that name.
func (g *Gate) isProtected(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.protected[name]
}
