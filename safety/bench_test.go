// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	epoch = time.Date(2026, 1, 19, 11, 0, 13, 0, time.UTC)
	nike  = record.Session{App: "adcp", User: "ana", ID: "sess-nike-summer"}
)

func usd(s string) entity.Value {
	v, err := entity.ParseMoney(s, "USD")
	if err != nil {
		panic(err)
	}
	return v
}

func number[T int | int64 | float64](x T) entity.Value {
	v, err := entity.Number(x)
	if err != nil {
		panic(err)
	}
	return v
}

func must(v entity.Value, err error) entity.Value {
	if err != nil {
		panic(err)
	}
	return v
}

type values = map[string]entity.Value

// thing is one entity as the record has it: a tool showed it, and who asked had read it.
func thing(typ, value string, attributes values) entity.Canonical {
	return sighted(typ, value, entity.Entity{Attributes: attributes, Source: entity.SourceRule})
}

// bought is an entity that was read and then named in the arguments of the action that
// asks in bench.request.
func bought(typ, value string, attributes, arguments values) entity.Canonical {
	return sighted(typ, value,
		entity.Entity{Attributes: attributes, Source: entity.SourceRule, TechNode: "node-0"},
		entity.Entity{Attributes: arguments, Source: entity.SourceAction, TechNode: "node-1"},
	)
}

// sighted is what [safety.Snapshot] makes of sightings of one thing that all count, ten
// seconds old and less. A model that asks had read the readings.
func sighted(typ, value string, seen ...entity.Entity) entity.Canonical {
	for i := range seen {
		e := &seen[i]
		e.Type, e.Value, e.Confidence, e.SeenAt = typ, value, 0.95, epoch.Add(time.Duration(i-10)*time.Second)
		e.Read = e.Source.Reading()
	}
	return snapshotted(seen...)
}

// snapshotted is what [safety.Snapshot] makes of sightings as they are.
func snapshotted(seen ...entity.Entity) entity.Canonical {
	seen = slices.Clone(seen)
	for i := range seen {
		if len(seen[i].Attributes) == 0 {
			seen[i].Attributes = values{safety.Exists: entity.Bool(true)}
		}
	}
	c := entity.Canonicalize(seen)[0]
	c.Key = seen[0].Identity()
	claimed, read := values{}, values{}
	for _, s := range c.Seen {
		for name, v := range s.Attributes {
			if s.Source.Reading() && !slices.Contains(s.Echoes, name) {
				read[name] = v
			} else {
				claimed[name] = v
			}
		}
	}
	c.Attributes = claimed
	maps.Copy(c.Attributes, read)
	if _, exists := read[safety.Exists]; len(read) > 1 || !exists && len(read) > 0 {
		delete(c.Attributes, safety.Exists)
	}
	c.Seen = slices.DeleteFunc(c.Seen, func(s entity.Entity) bool { return !s.Source.Reading() && s.Source != entity.SourceAction })
	return c
}

// down is what a checker says whose source cannot be reached.
var down = &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: errors.New("connection refused")}

var (
	yahoo  = thing("Product", "Yahoo Homepage Takeover", values{"price": usd("$90,000"), "availability": entity.Bool(true)})
	strava = thing("Product", "Strava Sponsored Routes", values{"price": usd("$40,000"), "availability": entity.Bool(true)})
	budget = thing("Budget", "$200,000", values{"amount": usd("$200,000")})
)

// clock is a clock that stands still until it is set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// record is the Evidence of the tests.
type recorded struct {
	mu   sync.Mutex
	snap safety.Snapshot
	err  error
	seen []record.Decision // asked for
}

func (r *recorded) Collect(_ context.Context, _ record.Session, d record.Decision) (safety.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, d)
	return r.snap, r.err
}

// world is the Checker of the tests: it says what each entity is now.
type world struct {
	mu     sync.Mutex
	clock  *clock
	states map[string]safety.State // by key; the as-of is the time of the question if not set
	down   map[string]error        // by key: the thing cannot be checked
	takes  time.Duration           // that a check takes
	calls  int
}

func (w *world) Check(_ context.Context, e entity.Canonical) (safety.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.clock.Add(w.takes)
	if err := w.down[e.Key]; err != nil {
		return safety.State{}, err
	}
	s := w.states[e.Key]
	s.Attributes = maps.Clone(s.Attributes)
	if s.AsOf.IsZero() {
		s.AsOf = w.clock.Now()
	}
	return s, nil
}

// put sets one attribute of an entity.
func (w *world) put(e entity.Canonical, name string, v entity.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.states[e.Key]
	s.Attributes = maps.Clone(s.Attributes)
	if s.Attributes == nil {
		s.Attributes = values{}
	}
	s.Attributes[name] = v
	w.states[e.Key] = s
}

type bench struct {
	t        *testing.T
	clock    *clock
	ledger   safety.Ledger
	record   *recorded
	world    *world
	cfg      safety.GuardConfig
	guard    *safety.Guard
	mu       sync.Mutex
	reports  []safety.Report
	args     map[string]any
	asker    string // who asks, if the guard has an identity
	approval safety.Approval
	held     *safety.Permit // the last permit of a step
}

// newBench returns a guard over a session that rests on the entities, in a world
// where nothing has changed.
func newBench(t *testing.T, change func(*safety.GuardConfig), entities ...entity.Canonical) *bench {
	t.Helper()
	entities = slices.Clone(entities) // tests share them and may spoil what they get
	for i := range entities {
		entities[i].Attributes = maps.Clone(entities[i].Attributes)
		entities[i].Seen = slices.Clone(entities[i].Seen)
		for j := range entities[i].Seen {
			entities[i].Seen[j].Attributes = maps.Clone(entities[i].Seen[j].Attributes)
		}
	}
	c := &clock{now: epoch}
	b := &bench{
		t: t, clock: c, ledger: new(store.Memory).Open().Ledger(),
		record: &recorded{snap: safety.Snapshot{
			Evidence: entity.Evidence{Entities: entities}, Receipt: record.Receipt{Watermark: 12, RowsRead: 10, Version: "rules"},
		}},
		world: &world{clock: c, states: map[string]safety.State{}, down: map[string]error{}},
		args:  map[string]any{"campaign": "summer", "total": 200000.0},
	}
	checkers := map[string]safety.Checker{}
	for _, e := range entities {
		b.world.states[e.Key] = safety.State{Attributes: maps.Clone(e.Attributes), Version: "v1"}
		checkers[e.Type] = b.world
	}
	b.cfg = safety.GuardConfig{
		Ledger: b.ledger, Evidence: b.record, Checkers: checkers, Now: c.Now,
	}
	if change != nil {
		change(&b.cfg)
	}
	b.guard = b.made()
	return b
}

// made returns a new guard of the configuration as it is now.
func (b *bench) made() *safety.Guard {
	b.t.Helper()
	if b.cfg.Policy.Mode != config.ModeObserve {
		b.cfg.Policy.Tools = actsOnNothing(b.cfg.Policy.Tools)
	}
	if b.cfg.Policy.CheckBeforeAsking == nil { // most tests are about the later checks
		b.cfg.Policy.CheckBeforeAsking = new(false)
	}
	g, err := safety.NewGuard(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	safety.OnReport(g, func(r safety.Report) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reports = append(b.reports, r)
	})
	return g
}

// actsOnNothing returns settings by which the calls of the tests need not name anything, where those that are given do
// not say more.
func actsOnNothing(given map[string]config.ToolSettings) map[string]config.ToolSettings {
	out := maps.Clone(given)
	if len(out) == 0 {
		out = config.Tools("provision_campaign", "buy")
	}
	for name, s := range out {
		if s.ActsOn == "" {
			s.ActsOn = config.ActsOnNothing
		}
		out[name] = s
	}
	return out
}

func (b *bench) request() safety.Request {
	return safety.Request{
		Session: nike, CallID: "call-1", Tool: "provision_campaign", Agent: "media_planner", InvocationID: "inv-1", RunID: "run-1",
		DecisionNode: "node-1", Answer: "answer-1", After: "after-1", TraceID: "trace-1", SpanID: "span-1", Args: b.args, Chained: true,
	}
}

func (b *bench) ask() safety.Approval {
	b.t.Helper()
	a, err := b.guard.Ask(as(b.t, b.asker), b.request())
	if err != nil {
		b.t.Fatalf("Ask: %v", err)
	}
	if err := b.guard.Attach(b.t.Context(), a.ID, "conf-1"); err != nil {
		b.t.Fatalf("Attach: %v", err)
	}
	b.approval = a
	return a
}

func (b *bench) answer(confirmed bool) safety.Outcome {
	b.t.Helper()
	return b.says("", safety.Answer{Confirmed: confirmed})
}

// says lets somebody answer; "" is somebody whom nobody knows.
func (b *bench) says(who string, ans safety.Answer) safety.Outcome {
	b.t.Helper()
	ans.Session, ans.ConfirmationID, ans.RunID = nike, "conf-1", "run-2"
	out, err := b.guard.Answer(as(b.t, who), ans)
	if err != nil {
		b.t.Errorf("Answer: %v", err)
	}
	return out
}

func (b *bench) execution() safety.Execution {
	return safety.Execution{
		Session: nike, ApprovalID: b.approval.ID, CallID: "call-1", Tool: "provision_campaign", Agent: "media_planner", RunID: "run-2", Args: b.args,
	}
}

func (b *bench) permit() (*safety.Permit, safety.Report, error) {
	return b.guard.Permit(b.t.Context(), b.execution())
}

// approved asks and approves.
func (b *bench) approved() *bench {
	b.t.Helper()
	b.ask()
	if out := b.answer(true); !out.Accepted {
		b.t.Fatalf("the answer was not accepted: %s\n%s", out.Reason, out.Report.Summary())
	}
	return b
}

// permitted asks, approves and gets a permit.
func (b *bench) permitted() *safety.Permit {
	b.t.Helper()
	p, r, err := b.approved().permit()
	if err != nil {
		b.t.Fatalf("Permit: %v\n%s", err, r.Summary())
	}
	return p
}

// carriedOut gets a permit, uses it and records the end.
func (b *bench) carriedOut() {
	b.t.Helper()
	p, _, err := b.permit()
	if err == nil {
		err = errors.Join(p.Consume(b.t.Context(), b.args), p.Done(b.t.Context(), nil))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// stored is the request as the ledger has it.
func (b *bench) stored() safety.Approval {
	b.t.Helper()
	a, err := safety.Get(context.WithoutCancel(b.t.Context()), b.ledger, b.approval.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *bench) state() safety.ApprovalState {
	b.t.Helper()
	return b.stored().State
}

func (b *bench) history() []safety.Step {
	b.t.Helper()
	steps, err := b.ledger.History(context.WithoutCancel(b.t.Context()), b.approval.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return steps
}

func (b *bench) check() safety.Report {
	b.t.Helper()
	r, err := b.guard.Check(b.t.Context(), nike)
	if err != nil {
		b.t.Fatalf("Check: %v", err)
	}
	return r
}

func reasons(r safety.Report) []string {
	var out []string
	for _, f := range r.Failures() {
		out = append(out, f.Reason)
	}
	return out
}

// changes says what a check found: the reasons of its failures, and its alerts and warnings, and "safe" if nothing denies.
func changes(r safety.Report) string {
	list, want := reasons(r), safety.Safe
	if len(list) > 0 {
		want = safety.CheckFailed
	}
	if len(r.Alerts()) > 0 {
		want = safety.Drift
	}
	for _, a := range append(r.Alerts(), r.Warnings()...) {
		said := fmt.Sprintf("[%s] %s: %s: %s -> %s", a.Drift, a.EntityType, a.Entity, a.Before, a.After)
		if a.Condition != "" {
			said += ", " + a.Condition + " needed"
		}
		if a.ChangePercent != nil {
			said += fmt.Sprintf(" (%+g%%)", *a.ChangePercent)
		}
		if a.Effect == config.EffectWarn {
			said += " (warning)"
		}
		list = append(list, said)
	}
	if len(list) == 0 || r.Verdict() != want {
		list = append(list, r.Verdict().String())
	}
	return strings.Join(list, ", ")
}

// wantFailure checks that a report denies for the reason.
func wantFailure(t *testing.T, r safety.Report, reason string) {
	t.Helper()
	if r.IsSafeToApprove() || !r.CheckFailed() || !slices.Contains(reasons(r), reason) {
		t.Errorf("failures %v, safe %t; want %q among the failures\n%s", reasons(r), r.IsSafeToApprove(), reason, r.Summary())
	}
}

func wantSafe(t *testing.T, r safety.Report) {
	t.Helper()
	if r.Verdict() != safety.Safe || !r.IsSafeToApprove() || r.CheckFailed() || len(r.Failures()) > 0 || len(r.Alerts()) > 0 {
		t.Errorf("want safe, got:\n%s", r.Summary())
	}
}

func wantDrift(t *testing.T, r safety.Report, types ...string) {
	t.Helper()
	var got []string
	for _, a := range r.Alerts() {
		got = append(got, a.Drift)
	}
	if r.Verdict() != safety.Drift || r.IsSafeToApprove() || !slices.Equal(got, types) {
		t.Errorf("verdict %s, alerts %v; want drift with %v\n%s", r.Verdict(), got, types, r.Summary())
	}
}

// wantRefusal checks that an error is a refusal with the code.
func wantRefusal(t *testing.T, err error, code string) *safety.Refusal {
	t.Helper()
	r, ok := err.(*safety.Refusal)
	if !ok || r == nil || r.Code != code {
		t.Fatalf("error %v (%T), want a refusal with code %q", err, err, code)
	}
	return r
}

// all makes several changes of a configuration, one after the other. A nil one changes nothing.
func all(list ...func(*safety.GuardConfig)) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		for _, change := range list {
			if change != nil {
				change(cfg)
			}
		}
	}
}

// ruled gives an attribute a rule.
func ruled(attribute string, d config.Drift) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		d.Type = safety.Changed
		if cfg.Policy.Drift == nil {
			cfg.Policy.Drift = map[string]config.Drift{}
		}
		cfg.Policy.Drift[attribute] = d
	}
}

// ofType gives the entities of a type a policy.
func ofType(typ string, p config.TypePolicy) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		if cfg.Policy.Types == nil {
			cfg.Policy.Types = map[string]config.TypePolicy{}
		}
		cfg.Policy.Types[typ] = p
	}
}

// requiring says which entities have to be checked.
func requiring(r config.Requirement, listed ...string) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) { cfg.Policy.Require, cfg.Policy.Listed = r, listed }
}

// checking gives a type a checker.
func checking(typ string, f safety.CheckerFunc) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) { cfg.Checkers[typ] = f }
}

// without takes the checkers of types away.
func without(types ...string) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		for _, typ := range types {
			delete(cfg.Checkers, typ)
		}
	}
}

// answer is a checker that gives one answer for everything.
func answer(s safety.State, err error) safety.CheckerFunc {
	return func(context.Context, entity.Canonical) (safety.State, error) { return s, err }
}

// answering makes every checker one that gives one answer for everything.
func answering(s safety.State, err error) func(*safety.GuardConfig) {
	return checkerOf(answer(s, err))
}

// checkerOf makes every type's checker f.
func checkerOf(f safety.CheckerFunc) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		for typ := range cfg.Checkers {
			cfg.Checkers[typ] = f
		}
	}
}
