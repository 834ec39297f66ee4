// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// start is the time of the first request; microseconds are what a ledger keeps.
var start = time.Date(2026, 1, 19, 10, 0, 12, 345678000, time.UTC)

var session = record.Session{App: "ads", User: "ana", ID: "sess-1"}

// Pending returns a valid pending approval whose every field is set but those that
// its later life sets. n makes ids and times differ.
func Pending(n int) safety.Approval {
	price, err := entity.Money("40000", "USD")
	if err != nil {
		panic(err)
	}
	es := entity.Canonicalize([]entity.Entity{{
		Type: "Product", Value: "Strava Sponsored Routes", Confidence: 0.91, Source: entity.SourceRule,
		Attributes: map[string]entity.Value{"price": price, "availability": entity.Bool(true)}, Echoes: []string{"availability"},
		EventID: "e1", TechNode: "n1", SpanID: "s1", SeenAt: start, ArtifactURI: "gs://a/b", Repeats: 1, Read: true,
	}})
	asked := start.Add(time.Duration(n) * time.Second)
	args := fmt.Appendf(nil, `{"n":%d}`, n)
	return safety.Approval{
		ID: fmt.Sprintf("%032x", n+1), Session: session,
		CallID: fmt.Sprintf("call-%d", n), Tool: "provision", Agent: "buyer", InvocationID: "inv", RunID: fmt.Sprintf("run-%d", n),
		DecisionNode: "node", Answer: "answer", After: "after", TraceID: "trace", SpanID: "span",
		ArgsDigest: "digest", Args: args, Declaration: "declared", Entities: es, Fingerprint: safety.Fingerprint(es), PolicyVersion: "policy",
		Needs:   map[string]map[string]safety.Need{es[0].Key: {"price": {Condition: "at most $30,000", Problem: "it is $40,000"}}},
		Receipt: record.Receipt{Watermark: 9, RowsRead: 7, Failed: 1, Truncated: 2, Version: "rules"}, Gaps: []string{"a gap"},
		NotChosen: entity.NotChosen{Total: 7, Entities: []entity.Alternative{{Type: "Product", Value: "Other", Seen: map[string]entity.Value{"price": price}, SeenAt: start}}},
		Surroundings: safety.Surroundings{
			Watched: true,
			State:   map[string]string{"cluster": "d1"}, Artifacts: map[string]string{"plan.txt": "d2"}, Shown: map[string]string{"cluster": "test"}, Unbound: 2,
		},
		Replaces: fmt.Sprintf("replaced-%d", n), Chain: 1, Difference: safety.Difference{
			Since: start, Omitted: 3, Arguments: []safety.ValueDifference{{Name: "n", Was: "1"}},
			Entities: []safety.EntityDifference{{Type: "Product", Value: "Strava", Change: "changed", Attributes: []safety.ValueDifference{{Name: "price", Was: "$1", Now: "$2"}}}},
		},
		Requester: "ana", RequesterAuthenticated: true, Approvers: 1, RequestedAt: asked, ExpiresAt: asked.Add(time.Hour),
		State: safety.StatePending, UpdatedAt: asked,
	}
}

// returned compares what a transition gave back with the approval as it is: what need not be
// read for a transition may be missing, and must not be wrong.
func returned(t *testing.T, what string, want, got safety.Approval) {
	t.Helper()
	if len(got.Args) == 0 {
		want.Args = nil
	}
	if len(got.Entities) == 0 {
		want.Entities, want.NotChosen, want.Surroundings = nil, entity.NotChosen{}, safety.Surroundings{}
	}
	if len(got.Needs) == 0 {
		want.Needs = nil
	}
	if len(got.Gaps) == 0 {
		want.Gaps = nil
	}
	if len(got.Report) == 0 {
		want.Report = nil
	}
	if got.Difference.Since.IsZero() {
		want.Difference = safety.Difference{}
	}
	wantSame(t, what, nil, want, got)
}

func create(t *testing.T, l safety.Ledger, a safety.Approval) safety.Approval {
	t.Helper()
	if err := l.Create(t.Context(), a); err != nil {
		t.Fatalf("Create: %v", err)
	}
	return a
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func testCreate(t *testing.T, a, b store.Store) {
	l := b.Ledger()
	first := create(t, a.Ledger(), Pending(1))
	sameID := Pending(2)
	sameID.ID = first.ID
	sameCall := Pending(2)
	sameCall.CallID, sameCall.RunID = first.CallID, first.RunID
	noID := Pending(2)
	noID.ID = ""
	approved := Pending(2)
	approved.State = safety.StateApproved
	noState := Pending(2)
	noState.State = ""
	replaced := Pending(2)
	replaced.Replaces = first.Replaces
	for name, a := range map[string]safety.Approval{
		"same id": sameID, "same session, call and run": sameCall, "no id": noID, "born approved": approved, "no state": noState,
		"same replaced": replaced,
	} {
		wantErr(t, name, l.Create(t.Context(), a), safety.ErrConflict)
	}
	otherRun := Pending(3)
	otherRun.CallID = first.CallID
	create(t, l, otherRun)
	otherUser := Pending(4)
	otherUser.CallID, otherUser.RunID, otherUser.Session.User = first.CallID, first.RunID, "bob"
	create(t, l, otherUser)
	for n := range 2 {
		replacesNone := Pending(5 + n)
		replacesNone.Replaces, replacesNone.Chain, replacesNone.Difference = "", 0, safety.Difference{}
		create(t, l, replacesNone)
	}

	got, err := safety.Get(t.Context(), l, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the first after the conflicts", nil, first, got)
	if safety.Fingerprint(got.Entities) != first.Fingerprint {
		t.Error("the entities that come back have another fingerprint")
	}
}

// testList selects approvals by each field of a query.
func testList(t *testing.T, one, two store.Store) {
	l := one.Ledger()
	first, second, elsewhere, another, differing := Pending(1), Pending(2), Pending(3), Pending(4), Pending(5)
	elsewhere.Session.ID, another.Tool, differing.ArgsDigest = "other", "other", "other"
	for n, a := range []*safety.Approval{&first, &second, &elsewhere, &another, &differing} {
		a.ID, a.CallID = fmt.Sprintf("%032x", 100-n), "call" // the ids descend, and the times ascend
		create(t, []store.Store{one, two}[n%2].Ledger(), *a)
	}
	if err := l.Attach(t.Context(), second.ID, "conf"); err != nil {
		t.Fatal(err)
	}
	second.ConfirmationID = "conf"
	for name, tt := range map[string]struct {
		query safety.Query
		want  []safety.Approval
	}{
		"nothing":                          {},
		"only what stands beside others":   {query: safety.Query{ConfirmationID: "conf", Tool: "provision", ArgsDigest: "digest"}},
		"an id":                            {query: safety.Query{ID: elsewhere.ID}, want: []safety.Approval{elsewhere}},
		"an id of another session":         {query: safety.Query{ID: elsewhere.ID, Session: session}},
		"an id that is not there":          {query: safety.Query{ID: "unknown"}},
		"a session":                        {query: safety.Query{Session: session}, want: []safety.Approval{first, second, another, differing}},
		"a confirmation":                   {query: safety.Query{Session: session, ConfirmationID: "conf"}, want: []safety.Approval{second}},
		"a confirmation elsewhere":         {query: safety.Query{Session: elsewhere.Session, ConfirmationID: "conf"}},
		"a tool":                           {query: safety.Query{Session: session, Tool: "provision"}, want: []safety.Approval{first, second, differing}},
		"a call":                           {query: safety.Query{Session: session, Tool: "provision", ArgsDigest: "digest"}, want: []safety.Approval{first, second}},
		"a call of which no tool is known": {query: safety.Query{Session: session, ArgsDigest: "other"}, want: []safety.Approval{differing}},
		"a tool with a confirmation":       {query: safety.Query{Session: session, Tool: "provision", ConfirmationID: "conf"}, want: []safety.Approval{second}},
		"another application":              {query: safety.Query{Session: record.Session{App: "other", User: "ana", ID: "sess-1"}}},
		"another user":                     {query: safety.Query{Session: record.Session{App: "ads", User: "bob", ID: "sess-1"}}},
		"another session":                  {query: safety.Query{Session: record.Session{App: "ads", User: "ana", ID: "SESS-1"}}},
		"names that are one together":      {query: safety.Query{Session: record.Session{App: "adsana", ID: "sess-1"}}},
	} {
		for _, brief := range []bool{false, true} {
			tt.query.Brief = brief
			got, err := l.List(t.Context(), tt.query)
			if err != nil || len(got) != len(tt.want) {
				t.Errorf("%s: %d approvals, error %v; want %d", name, len(got), err, len(tt.want))
				continue
			}
			for i := range got {
				if brief {
					returned(t, name, tt.want[i], got[i])
				} else {
					wantSame(t, name, nil, tt.want[i], got[i])
				}
			}
		}
	}
}

func testNotFound(t *testing.T, a, _ store.Store) {
	ctx, l := t.Context(), a.Ledger()
	create(t, l, Pending(1))
	_, err := safety.Get(ctx, l, "unknown")
	wantErr(t, "Get", err, safety.ErrNotFound)
	_, err = safety.Get(ctx, l, "")
	wantErr(t, "Get of nothing", err, safety.ErrNotFound)
	wantErr(t, "Attach", l.Attach(ctx, "unknown", "c"), safety.ErrNotFound)
	_, err = l.Transition(ctx, Transition(Pending(2), safety.StateRejected))
	wantErr(t, "Transition", err, safety.ErrNotFound)
	_, err = l.History(ctx, "unknown")
	wantErr(t, "History", err, safety.ErrNotFound)
}

func testAttach(t *testing.T, one, two store.Store) {
	ctx, l := t.Context(), one.Ledger()
	a, b := create(t, l, Pending(1)), create(t, two.Ledger(), Pending(2))
	wantErr(t, "an empty confirmation", l.Attach(ctx, a.ID, ""), safety.ErrConflict)
	if err := l.Attach(ctx, a.ID, "conf"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "a second confirmation", l.Attach(ctx, a.ID, "conf-2"), safety.ErrConflict)
	wantErr(t, "the same confirmation again", l.Attach(ctx, a.ID, "conf"), safety.ErrConflict)
	wantErr(t, "the confirmation of another", l.Attach(ctx, b.ID, "conf"), safety.ErrConflict)

	move(t, l, b, safety.StateRejected)
	wantErr(t, "one that is not pending", l.Attach(ctx, b.ID, "conf-3"), safety.ErrConflict)

	again := create(t, l, Pending(4))
	move(t, l, again, safety.StateSuperseded)
	if err := l.Attach(ctx, again.ID, "conf-4"); err != nil {
		t.Errorf("one that was asked again: %v", err)
	}

	elsewhere := Pending(3)
	elsewhere.Session.ID = "sess-2"
	create(t, two.Ledger(), elsewhere)
	if err := l.Attach(ctx, elsewhere.ID, "conf"); err != nil {
		t.Errorf("the same confirmation id in another session: %v", err)
	}
	a.ConfirmationID = "conf"
	got, err := l.List(ctx, safety.Query{Session: session, ConfirmationID: "conf"})
	if err != nil || len(got) != 1 {
		t.Fatalf("%d approvals, error %v", len(got), err)
	}
	wantSame(t, "List after Attach", nil, a, got[0])
}

func testIsolation(t *testing.T, one, _ store.Store) {
	l, a := one.Ledger(), Pending(1)
	want := a.Clone()
	create(t, l, a)
	spoil := func(a safety.Approval) {
		a.Args[0] = 'X'
		a.Gaps[0] = "spoilt"
		a.Needs[a.Entities[0].Key]["price"] = safety.Need{Condition: "spoilt"}
		a.Entities[0].Attributes["price"] = entity.Text("spoilt")
		a.Entities[0].Seen[0].Attributes["price"] = entity.Text("spoilt")
		a.NotChosen.Entities[0].Seen["price"] = entity.Text("spoilt")
		a.Surroundings.State["cluster"] = "spoilt"
	}
	spoil(a)
	for range 2 {
		got, err := safety.Get(t.Context(), l, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, "Get", nil, want, got)
		spoil(got)
	}
}

func testRace(t *testing.T, one, two store.Store) {
	l := one.Ledger()
	a := move(t, l, create(t, l, Pending(1)), safety.StateApproved)
	const n = 100
	nonces := make(chan string, n)
	var ready, all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		ready.Add(1)
		all.Go(func() {
			tr := Transition(a, safety.StatePermitted)
			tr.Set.PermitNonce = fmt.Sprintf("nonce-%d", i)
			ready.Done()
			<-gate
			got, err := []store.Store{one, two}[i%2].Ledger().Transition(t.Context(), tr)
			switch {
			case err == nil:
				nonces <- got.PermitNonce
			case !errors.Is(err, safety.ErrConflict):
				t.Errorf("a loser got %v, want %v", err, safety.ErrConflict)
			}
		})
	}
	ready.Wait()
	close(gate)
	all.Wait()
	close(nonces)
	var winners []string
	for nonce := range nonces {
		winners = append(winners, nonce)
	}
	got, err := safety.Get(t.Context(), l, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(winners) != 1 || got.PermitNonce != winners[0] || got.State != safety.StatePermitted {
		t.Errorf("%d winners %v; stored: %s with %q", len(winners), winners, got.State, got.PermitNonce)
	}
}
